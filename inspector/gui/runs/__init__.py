"""Runs of our own agent, as the window has them: how one begins, and the one that is under way."""
