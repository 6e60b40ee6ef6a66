"""Proxies in the window: starting one, and controlling the one that is running."""
