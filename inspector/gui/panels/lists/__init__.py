"""Panels that each show one table."""
