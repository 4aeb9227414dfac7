"""``leftoff doctor`` and ``leftoff report``: what is installed, readable or broken here, and what compactions lost.

Nothing is repaired; doctor names the command that does it.
"""
