"""The command line: one file a command, one that writes tables and JSON (`output`). It works nothing out itself."""
