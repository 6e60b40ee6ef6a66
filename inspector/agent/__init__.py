"""An agent of our own: a task in a workspace, run turn by turn, stopped wherever one wants to look."""
