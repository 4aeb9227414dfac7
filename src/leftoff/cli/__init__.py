"""The command line: each command parses its arguments, calls a function of a feature, and shows the result.

What a command does to sessions and logs is not decided here.
"""

from __future__ import annotations
