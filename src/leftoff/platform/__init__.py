"""Access to the machine: clock, files, locks, paths, processes, git, the log file; redaction and the register of documents.

It knows nothing of agents, sessions and settings.
"""
