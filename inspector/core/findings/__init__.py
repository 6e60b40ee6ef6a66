"""Findings about a session: what fills it, what its compactions lost, what it cost, what is still in context."""
