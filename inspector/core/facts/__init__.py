"""Find the facts of a text, such as wishes, paths and errors: what a compaction lost, and which losses mattered."""
