"""The ways to talk to an agent: an object of any Python framework, a registered agent's headless form, an address on the network."""
