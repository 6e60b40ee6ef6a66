"""The command line: one file a command, and what they share (`select`, `output`). It works nothing out itself."""
