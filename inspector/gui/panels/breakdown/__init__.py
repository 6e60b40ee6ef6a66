"""The breakdown of the buffer at the playhead: a map, a tree of its parts, duplicates, tools and changes."""
