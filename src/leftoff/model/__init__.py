"""The nouns and the protocols: frozen values and pure functions on them; no files, no clock, no agent's name."""
