"""The command line: one module per command, and shared modules (`select`, `output`). It computes nothing itself."""
