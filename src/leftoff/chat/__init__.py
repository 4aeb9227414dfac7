"""The chat loop: a face on any agent, which saves every conversation and can go on from its summary."""
