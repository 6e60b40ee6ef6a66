"""What steps, events and verdicts say to the user, in sentences."""
