"""Values in, values out: no network, no clock, and no file but those that ship with the program."""
