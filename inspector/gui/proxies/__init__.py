"""Proxies, as the window has them: how one begins, and the one that listens."""
