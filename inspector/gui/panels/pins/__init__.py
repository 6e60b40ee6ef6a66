"""The Pins panel: texts that should stay in the buffer, followed over all requests."""
