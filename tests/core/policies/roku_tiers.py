"""Roku's tiers run by hand."""

from inspector.core.buffer import Buffer
from inspector.core.needs import (
    drive,
)
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.roku import POLICY
from inspector.core.policies.roku.settings import RokuSettings, RokuState
from inspector.core.policies.verdict import PolicyInput
from tests.core.policies.build import Script, assistant, buffer, user

W1000 = RokuSettings(context_window_tokens=1000)


OK4 = "Goal: g\nAccomplished: a\nKey Decisions: k\nRelevant Files: r"


MOMENT = PolicyInput(step=3)


def run(
    tier: str,
    start: Buffer,
    *replies: object,
    settings: RokuSettings = W1000,
    running: RokuState | None = None,
    moment: PolicyInput = MOMENT,
) -> tuple[Outcome[RokuState], Script]:
    script = Script(*replies)  # type: ignore[arg-type]
    conversation = POLICY.tier(tier, PolicyContext(start, settings, running or RokuState(), moment))
    return drive(conversation, script), script


def names(outcome: Outcome[RokuState]) -> list[str]:
    return [event.name for event in outcome.events]


def at_601(k: int) -> Buffer:
    return buffer(user("a" * 4), assistant("b" * 4), user("c" * k))
