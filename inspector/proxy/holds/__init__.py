"""Requests that are held for a person: which, why, what they would weigh, what became of them."""
