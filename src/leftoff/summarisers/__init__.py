"""What turns text into a summary: the rules, an agent's headless command, or any command of the user's."""
