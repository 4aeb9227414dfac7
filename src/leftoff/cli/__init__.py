"""The command line: each command parses, calls one flow, and shows what came back."""

from __future__ import annotations
