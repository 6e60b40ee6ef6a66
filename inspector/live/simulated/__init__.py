"""A provider on this machine: a real HTTP server on loopback that speaks three dialects, counts, caches and fails."""
