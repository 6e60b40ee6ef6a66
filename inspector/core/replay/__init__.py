"""Replay a policy over a recorded session: its compactions, their costs, and the removed facts needed again later."""
