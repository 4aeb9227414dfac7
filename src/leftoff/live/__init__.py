"""The fast path: what an agent's hook runs, one short process per event. Imports nothing of ours."""
