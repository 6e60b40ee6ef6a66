"""Files and databases of sessions: found, opened, followed while they grow, saved. Reads; never writes what it read."""
