"""Policies side by side: over a whole session, or two buffers."""
