"""The only room that touches the world: clock, files, locks, paths, processes, git, redaction, the register."""
