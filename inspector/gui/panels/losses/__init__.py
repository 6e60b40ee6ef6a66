"""The page What was lost: the facts that all compactions lost, and the places of the selected fact."""
