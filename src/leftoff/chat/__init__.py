"""Chat with any agent in a loop that saves every conversation and can continue from its summary."""

from __future__ import annotations
