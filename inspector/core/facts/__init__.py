"""Facts: what a text says that cannot be guessed. Used to tell what a compaction lost, and what of it was needed."""
