"""A provider on this machine: a real HTTP server on loopback that speaks four dialects, counts, caches and fails."""
