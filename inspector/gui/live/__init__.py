"""What a run, a proxy and a receiver of spans share in the window: how each is started, described and shown."""
