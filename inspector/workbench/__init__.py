"""The one thing that changes: the state that every face shows."""
