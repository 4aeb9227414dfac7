"""Handing a resume log to a session: which log, which profile, the fence around it, drift, and the receipt of a compaction."""
