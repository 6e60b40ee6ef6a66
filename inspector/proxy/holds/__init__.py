"""Requests that are held for a person: which ones, why, their sizes, and the decisions about them."""
