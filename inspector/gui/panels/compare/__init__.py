"""Policies compared over the whole session."""
