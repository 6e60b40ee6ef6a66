"""Tide gauges: what they wrote, and what it means."""
