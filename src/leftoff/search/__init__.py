"""Search in all sessions: the index, its updates, queries, and the archive of finished sessions."""
