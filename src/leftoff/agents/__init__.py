"""One folder per agent: everything odd about it lives there. ``leftoff.plugins`` knows which there are."""
