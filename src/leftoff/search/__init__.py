"""Search in all sessions: the index, its updates, and queries. Transcripts are only read."""
