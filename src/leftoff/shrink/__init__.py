"""Smaller copies of a session: trim, smart-trim, rollover, and the way back."""
