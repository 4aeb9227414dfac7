"""Erase a session, a project or a text from everything leftoff keeps, and report what is left elsewhere."""
