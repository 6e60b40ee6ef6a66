"""A simulated provider: an HTTP server on loopback with four dialects, token counts, a cache and faults on demand."""
