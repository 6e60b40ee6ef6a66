"""Commands that an agent's client runs beside itself: the status line and the hook, and their place in its settings."""
