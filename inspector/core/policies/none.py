"""No compaction at all: the baseline with which replays compare every other policy."""

from inspector.core.policies.harness import SimplePolicy, SimpleSettings


class NonePolicy(SimplePolicy[SimpleSettings]):
    """A policy without tiers. It never compacts, not even after an overflow."""

    name = "none"
    title = "No compaction"
    settings_type = SimpleSettings


POLICY = NonePolicy()
