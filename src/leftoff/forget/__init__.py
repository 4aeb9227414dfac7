"""leftoff.forget"""
