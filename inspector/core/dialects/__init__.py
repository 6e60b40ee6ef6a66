"""Read messages and usage from the JSON of each provider's API, and write them. No network."""
