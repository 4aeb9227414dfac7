"""Chat with any agent in a loop that saves every conversation and can continue from its summary.

Transcripts that agents write themselves are neither read nor changed here.
"""

from __future__ import annotations
