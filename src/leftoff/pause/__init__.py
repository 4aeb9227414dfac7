"""The incremental pause: what happened from auto_pause on, recorded line by line, and the snapshot made of it.

When a pause begins and ends is decided by the callers: hooks, commands and programs.
"""
