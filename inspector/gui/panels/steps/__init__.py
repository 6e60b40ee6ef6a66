"""The panel of the tree of steps."""
