"""How a session is made smaller: plans of cuts, each with its reason, decided from values alone. Adapters carry them out."""
