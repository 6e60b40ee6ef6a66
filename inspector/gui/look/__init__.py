"""Colours, fonts and words: how things look everywhere."""
