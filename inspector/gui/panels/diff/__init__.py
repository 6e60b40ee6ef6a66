"""The Diff panel: two buffers side by side."""
