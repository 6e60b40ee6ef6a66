"""Windows that ask something, and forms."""
