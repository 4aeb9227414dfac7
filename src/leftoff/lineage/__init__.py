"""Where a session came from: what a derived one says of its parent, the chain of them, the registry, the block."""
