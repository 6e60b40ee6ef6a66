"""The tools of our own agent: inside the workspace, within limits, and asking before they change anything."""
