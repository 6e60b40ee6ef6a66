"""The panel of the proxy and of the requests that it holds."""
