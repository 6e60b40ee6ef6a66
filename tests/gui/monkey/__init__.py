"""Random hands on the real window."""
