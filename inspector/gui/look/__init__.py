"""Colours, fonts and wording of all parts of the window."""
