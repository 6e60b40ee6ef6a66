"""What the session cost: dollars along the requests, why the cache broke, which compactions paid."""
