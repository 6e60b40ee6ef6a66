"""What is shown: one value, and the values it is made of. Nothing here changes."""
