"""leftoff.sessions"""
