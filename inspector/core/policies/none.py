"""No compaction at all: what every other policy is compared with in a replay."""

from inspector.core.buffer import Buffer
from inspector.core.policies.harness import SimplePolicy, SimpleSettings, SimpleState
from inspector.core.policies.turn import AllDone, Done
from inspector.core.policies.verdict import PolicyInput, Verdicts, Watermark


class NonePolicy(SimplePolicy[SimpleSettings]):
    """Never fires, whatever the model says to it."""

    name = "none"
    title = "No compaction"
    settings_type = SimpleSettings

    def watermarks(self, settings: SimpleSettings) -> tuple[Watermark, ...]:
        return ()

    def due(self, buffer: Buffer, settings: SimpleSettings, running: SimpleState, moment: PolicyInput) -> Verdicts:
        return ()

    def tier(
        self, name: str, buffer: Buffer, settings: SimpleSettings, running: SimpleState, moment: PolicyInput
    ) -> Done[SimpleState]:
        yield from ()
        raise self.unknown(name)

    def before_call(
        self, buffer: Buffer, settings: SimpleSettings, running: SimpleState, moment: PolicyInput
    ) -> AllDone[SimpleState]:
        yield from ()
        return ()


POLICY = NonePolicy()
