"""The SQLite file of the library: its tables, a cache of what lists show of each session, and what the user had forgotten.

It reads no transcripts and answers no queries: ``sessions`` and ``search`` do that.
"""
