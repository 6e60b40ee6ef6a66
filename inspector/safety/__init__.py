"""Keys and addresses: where they come from, and what keeps them in; the program closed to the commands that it runs."""
