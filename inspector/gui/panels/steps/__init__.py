"""The tree of steps."""
