"""Search in all sessions: the index, its updates, queries, and the archive of finished sessions.

Transcripts are only read; the archive writes one back where its agent has deleted it.
"""
