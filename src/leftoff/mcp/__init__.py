"""What an agent or a person can ask about earlier work: find records, read them, and see what happened to a file or a command.

``server`` offers the three questions to agents as MCP tools; ``leftoff why`` and ``leftoff history`` ask the same for people.
"""
