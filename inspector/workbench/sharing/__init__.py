"""What is handed to other people: a report or a bundle of a session, after a review of what it would disclose."""
