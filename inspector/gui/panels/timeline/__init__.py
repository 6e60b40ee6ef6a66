"""The curve over all requests, and the pressure gauge."""
