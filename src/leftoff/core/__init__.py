"""Frozen values, pure functions on them, and the protocols that plugins implement. No files, no clock, no agent names."""

from __future__ import annotations
