"""Changes to the buffer by hand: what may be asked for, and the windows that ask."""
