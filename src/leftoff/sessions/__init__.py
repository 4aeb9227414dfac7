"""Sessions of all agents: find and list them, measure, show and export them, their lineage, and the state of live ones."""
