"""The bytes between a client and its provider: every one is passed on as it came."""
