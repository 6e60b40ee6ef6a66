"""The Cost panel: dollars of each request, causes of cache misses, and which compactions paid for themselves."""
