"""Does a constraint survive? Every pin over all requests, and the calls that did what one of them forbids.

A call that failed is no violation, and what the user named again afterwards, without forbidding it, may have been
allowed, as may be what he was asked about and said yes to: from then on nothing is held against it. No violation is
claimed without the text of the call.
"""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from inspector.core.calls import command_of, patched, path_of
from inspector.core.facts.reading import call_text
from inspector.core.facts.rules import forbids
from inspector.core.facts.sentences import typed
from inspector.core.facts.wording import plain
from inspector.core.findings.bans import Ban, banned_by, find_ban
from inspector.core.message import Message, ToolCall
from inspector.core.replay.driver import Arrival, arrivals
from inspector.core.replay.pins import Pin, PinHistory, PinIndex, PinSpan, PinState, recorded_pins
from inspector.core.session import Thread

_CONSENT = re.compile(
    r"(?i)\W*(?:yes|yep|yeah|ok(?:ay)?|sure|fine|right|please do|do it|do that|go (?:ahead|for it|on)|proceed|approved?"
    r"|agreed|sounds good|[1-9y]\b|好|可以|行|嗯|同意|没问题|对|是的|继续|就这样)"
)
_ASKING = re.compile(r"(?i)(?:^|_)ask|exit_?plan|request_user_input")
"""In the name of a tool that asks the user."""
LONGEST_CALL = 200
"""Characters of a call that are shown."""


@dataclass(frozen=True, slots=True)
class PinViolation:
    """A call that does what a pin forbids. `request`: index of the one whose answer holds it."""

    request: int
    message: str
    state: PinState
    """How the pin stood when the model was asked."""
    why: str
    """The call, what of the pin it touches, and how the pin stood, in a sentence."""


@dataclass(frozen=True, slots=True)
class PinFinding:
    """A pin as it was recorded, and the calls against it."""

    history: PinHistory
    violations: tuple[PinViolation, ...] = ()

    @property
    def pin(self) -> Pin:
        return self.history.pin


def pin_findings(thread: Thread, pins: Sequence[Pin]) -> tuple[PinFinding, ...]:
    """Each of these pins over the thread as it was recorded. O(messages)."""
    histories = recorded_pins(thread, PinIndex(pins))
    bans = {n: ban for n, pin in enumerate(pins) if (ban := ban_of(pin))}
    against = _violations(thread, histories, bans) if bans else {}
    return tuple(PinFinding(history, tuple(against.get(n, ()))) for n, history in enumerate(histories))


def ban_of(pin: Pin) -> Ban | None:
    """What calls must not do by this pin; None where it forbids none."""
    return find_ban(plain(pin.text)) if pin.found != "instruction" else None


def _violations(
    thread: Thread, histories: Sequence[PinHistory], bans: Mapping[int, Ban]
) -> dict[int, list[PinViolation]]:
    """The calls against the bans, by number of the pin."""
    failed = {result.call_id for one in thread.messages if (result := one.result) is not None and result.is_error}
    found: dict[int, list[PinViolation]] = {}
    standing = dict(bans)
    for index, arrival in enumerate(arrivals(thread)):
        calls = [(one, call) for one in arrival.answer for call in one.calls if call.id not in failed]
        for message, call in calls:
            for n, ban in standing.items():
                span, name = histories[n].at(index - 1), banned_by(ban, call)
                if span is not None and name:
                    found.setdefault(n, []).append(_violation(index - 1, message, call, name, span))
        allowed = [n for n, ban in standing.items() if _allowed(histories[n].pin, ban, arrival, failed)]
        for n in allowed:
            del standing[n]
    return found


def _allowed(pin: Pin, ban: Ban, arrival: Arrival, failed: Container[str]) -> bool:
    """Does the user name it again here, without forbidding it? Or say yes, asked about it?"""
    said = [
        one.text
        for one in arrival.new
        if one.role == "user" and not one.summary and not one.mark and one.id != pin.message
    ]
    if any(not forbids(one) and ban.named_in(one) for text in said for one in typed(text)):
        return True
    asked = [
        call_text(call)
        for one in arrival.answer
        for call in one.calls
        if call.id not in failed and _ASKING.search(call.name)
    ]
    if any(_CONSENT.match(text) for text in said):
        asked += [one.text for one in arrival.answer if one.role == "assistant" and re.search("[?\uff1f]", one.text)]
    return any(ban.named_in(text) for text in asked)


def _violation(request: int, message: Message, call: ToolCall, name: str, span: PinSpan) -> PinViolation:
    shown = plain(f"{call.name} {command_of(call) or path_of(call) or ', '.join(patched(call))}")[:LONGEST_CALL]
    stood = f"the pin stood {span.state}"
    if span.state == "gone":
        stood = f"the pin had been gone since request {span.first}" + (f", by {span.evidence}" if span.evidence else "")
    return PinViolation(request, message.id, span.state, f"{shown}: this touches {name!r}; {stood}")
