"""Sharing a session from the window: the review of what a report or a bundle would disclose, and the writing."""
