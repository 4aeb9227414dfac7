"""The incremental pause: what happened from auto_pause on, recorded line by line, and the snapshot made of it."""
