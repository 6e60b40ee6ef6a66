"""One message, whole."""
