"""Manual changes to the buffer: the actions and their dialogs."""
