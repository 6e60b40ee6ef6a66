"""Steps of a policy taken by hand, and edits: the tree of them, what runs them, and files of them."""
