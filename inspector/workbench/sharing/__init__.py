"""Files to share: a report or a bundle of a session, after a review of its private texts."""
