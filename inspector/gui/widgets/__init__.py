"""Widgets and drawing functions for any panel. They know nothing of sessions."""
