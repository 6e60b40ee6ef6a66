"""The messages of the buffer, a row each."""
