"""What agents call during a session: the fast path of hooks, the answer to each event, the status line; and their installation.

Also which documents of a cloned repository are trusted. Logs, pauses and project states are made in their own packages.
"""
