"""How full the window is, what to say about it, and how long it will last: pure, from facts that adapters read."""
