"""The proxy and the requests that it holds."""
