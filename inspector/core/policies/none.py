"""No compaction at all: what every other policy is compared with in a replay."""

from inspector.core.buffer import Buffer
from inspector.core.policies.policy import Moment, Verdict, Watermark
from inspector.core.policies.simple import AllDone, Done, Running, SimplePolicy, SimpleSettings


class NonePolicy(SimplePolicy[SimpleSettings]):
    """Never fires, whatever the model says to it."""

    name = "none"
    title = "No compaction"
    settings_type = SimpleSettings

    def watermarks(self, settings: SimpleSettings) -> tuple[Watermark, ...]:
        return ()

    def due(self, buffer: Buffer, settings: SimpleSettings, running: Running, moment: Moment) -> tuple[Verdict, ...]:
        return ()

    def tier(self, name: str, buffer: Buffer, settings: SimpleSettings, running: Running, moment: Moment) -> Done:
        yield from ()
        raise self.unknown(name)

    def before_call(self, buffer: Buffer, settings: SimpleSettings, running: Running, moment: Moment) -> AllDone:
        yield from ()
        return ()


POLICY = NonePolicy()
