"""Keys and addresses, servers for this machine only, and the program closed to the commands that it runs."""
