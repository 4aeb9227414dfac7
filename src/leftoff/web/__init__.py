"""``leftoff web``: a local page that shows what happened to the context window of every session."""
