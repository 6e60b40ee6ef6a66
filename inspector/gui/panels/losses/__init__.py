"""What was lost, as a page: the facts of all compactions, and the places of the selected one."""
