"""What is handed to other people: a report of a session, after a review of what it would disclose."""
