"""Read bare request bodies, one or many in a file. One reader serves the dialects of all providers."""
