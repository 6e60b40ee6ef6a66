"""Pulse Coder at work on made-up turns."""

from inspector.core.message import Message
from inspector.core.needs import (
    Answer,
    ProviderFailure,
    drive,
)
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.pulse import (
    POLICY,
    PulseState,
)
from inspector.core.policies.pulse.settings import PulseSettings
from tests.core.policies.build import Script, assistant, buffer, user

ALWAYS = POLICY.settings([("COMPACT_TRIGGER", "0")])
FAIL = ProviderFailure("down")


def turns(n: int) -> list[Message]:
    return [one for i in range(1, n + 1) for one in (user(f"q{i}"), assistant(f"r{i}"))]


def run(
    start: list[Message], *replies: object, force: bool = False, settings: PulseSettings = ALWAYS
) -> tuple[Outcome[PulseState], Script]:
    script = Script(*replies)  # type: ignore[arg-type]
    whole = buffer(*start)
    if force:
        return drive(
            POLICY.tier("compact", PolicyContext(whole, settings, PulseState())), script
        ), script
    return drive(POLICY.run_due(PolicyContext(whole, settings, PulseState())), script)[-1], script


def reason(outcome: Outcome[PulseState]) -> object:
    return outcome.events[0].fields.get("reason")


def stop(text: str = "done") -> Answer:
    return Answer(messages=(assistant(text),), finish="stop")


def length(text: str = "") -> Answer:
    return Answer(messages=(assistant(text),) if text else (), finish="length")
