"""What fills the window, at the playhead: an icicle, the same as a tree, what repeats, and the tools."""
