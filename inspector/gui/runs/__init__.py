"""Runs of the built-in agent in the window: starting one, and controlling the one that is active."""
