"""The Message panel: the selected message in full."""
