"""The library: one SQLite file with a catalogue of sessions and the full text of all of them; and the archive."""
