"""Test kit for plugins and for leftoff itself: builders of sessions, and a test suite for each protocol.

It needs pytest, which leftoff itself does not: ``pip install pytest``."""
