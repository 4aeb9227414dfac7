"""The verbs: one file per thing a user asks for, told from top to bottom. Faces call exactly one."""
