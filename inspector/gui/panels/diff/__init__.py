"""Two buffers side by side."""
