"""What should stand in the buffer, over all requests."""
