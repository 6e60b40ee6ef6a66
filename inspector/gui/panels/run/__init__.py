"""A run of the live agent."""
