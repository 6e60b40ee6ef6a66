"""What a session tells by itself: what fills it, what its compactions lost, what it cost, what still stands."""
