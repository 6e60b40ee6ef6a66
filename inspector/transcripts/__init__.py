"""Find, open, follow and save files and databases of sessions. A source is never changed."""
