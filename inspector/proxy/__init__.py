"""The proxy between an agent and its provider, on this machine only: it records all traffic and can hold requests."""
