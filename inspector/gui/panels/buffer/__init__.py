"""The list of the messages in the buffer, one row each."""
