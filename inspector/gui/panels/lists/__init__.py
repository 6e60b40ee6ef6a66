"""Panels that are one list."""
