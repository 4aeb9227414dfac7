"""Settings and where each value came from: defaults < user file < project file < environment < command line.

Settings files are only read here, never written.
"""
