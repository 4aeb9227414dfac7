"""The adapters: one folder per agent for everything peculiar to it, and what adapters share.

They read transcripts and write copies of them. What to cut, save or warn about is decided in other packages.
"""
