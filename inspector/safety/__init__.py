"""Keys and addresses: where they come from, and what keeps them in; servers for this machine only; the program closed to the commands that it runs."""
