"""No compaction at all: what every other policy is compared with in a replay."""

from inspector.core.policies.harness import SimplePolicy, SimpleSettings


class NonePolicy(SimplePolicy[SimpleSettings]):
    """Never fires, whatever the model says to it."""

    name = "none"
    title = "No compaction"
    settings_type = SimpleSettings


POLICY = NonePolicy()
