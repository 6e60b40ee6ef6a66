"""Texts that should stay in the buffer, followed over all requests."""
