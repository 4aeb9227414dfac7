"""Resume logs: when one is due, how it is built, saved, edited, verified and restored as text; and the pins they carry.

How they are stored is left to ``storage``.
"""

from __future__ import annotations
