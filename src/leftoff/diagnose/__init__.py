"""leftoff.diagnose"""
