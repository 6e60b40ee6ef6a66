"""The product's own agent: it works on a task in a workspace turn by turn, can be paused, and writes a journal."""
