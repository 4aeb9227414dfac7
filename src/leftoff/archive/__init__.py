"""Compressed copies of finished sessions, kept for when their agent deletes its own."""
