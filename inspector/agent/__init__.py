"""An agent of our own: a task in a workspace, run turn by turn, paused on demand; its journal."""
