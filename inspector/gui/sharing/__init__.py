"""Sharing a session: the review of what a report or a bundle would disclose, and writing the file."""
