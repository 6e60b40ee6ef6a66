"""The proxy between an agent and its provider, on this machine only: what passes is recorded, and may be held."""
