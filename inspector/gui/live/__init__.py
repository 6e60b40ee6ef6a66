"""What a run, a proxy and a span receiver have in common in the window: how each is started, described and shown."""
