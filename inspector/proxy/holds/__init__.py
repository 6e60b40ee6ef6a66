"""Held requests: which requests are held and why, their sizes, and the decisions about them."""
