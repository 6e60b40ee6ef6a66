"""Sentences that describe steps, events and verdicts to the user."""
