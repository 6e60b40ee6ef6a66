"""What the relay saw, on disk: without keys, each body once."""
