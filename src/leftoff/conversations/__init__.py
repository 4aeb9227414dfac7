"""Saved chats: their Markdown, the summary block, the file that grows by a turn, the list of them. Knows no agent and no face."""
