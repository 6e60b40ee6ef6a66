"""Requests that are held for a person: which, why, how large they would be, what became of them."""
