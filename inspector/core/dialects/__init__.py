"""Provider JSON to messages and usage, and back. No network."""
