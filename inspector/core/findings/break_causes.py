"""Find causes of a cache miss in two consecutive requests, or in a recorded event between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.buffer import Prompt
from inspector.core.diff import message_lines
from inspector.core.drops import Drop, find_parting
from inspector.core.findings import break_words
from inspector.core.findings.prompt_change import changed_lines, compare_tools
from inspector.core.session import Request, Sign, SignKind

BreakCause: TypeAlias = Literal[
    "expired",
    "prefix-changed",
    "model-changed",
    "tools-changed",
    "compaction",
    "restart",
    "other-cache",
    "unknown",
]
"""other-cache: the provider still had the prompt, but answered from another of its caches, which held less of it."""


@dataclass(frozen=True, slots=True)
class MissExplanation:
    """The cause of a cache miss, the evidence as a sentence, and the first changed message if there is one."""

    cause: BreakCause
    evidence: str
    message: str = ""
    place: int | None = None
    diff: tuple[str, ...] = ()
    inferred: bool = False
    life_s: float | None = None


_BY_SIGN: Mapping[SignKind, BreakCause] = {"restart": "restart", "tools": "tools-changed"}


def find_signed_cause(
    signs: Sequence[Sign], stopped: str, place: int | None, message: str
) -> MissExplanation | None:
    """Return the cause that a recorded event shows (a restart, changed tools); None if there is none.

    Args:
        signs: The events between the two requests.
        stopped: Where reading from the cache stopped, as a sentence.
        place: Place of the first message that was not read; None if not known.
        message: Id of that message.
    """
    for kind, cause in _BY_SIGN.items():
        words = break_words.say_signs(signs, kind)
        if words:
            return MissExplanation(
                cause,
                evidence=f"{words} {stopped}",
                message=message if place == 0 else "",
                place=place,
            )
    return None


def find_changed_prompt(former: Prompt, now: Prompt) -> MissExplanation | None:
    """Return the change of tools or system prompt; None if there is none, or either prompt is not recorded."""
    if former is now or former == now:
        return None
    if former.tools is not None and now.tools is not None and former.tools != now.tools:
        removed, added, changed = compare_tools(former, now)
        evidence = break_words.say_tools_changed(removed, added, changed)
        return MissExplanation("tools-changed", evidence)
    if former.system is not None and now.system is not None and former.system != now.system:
        return MissExplanation(
            "tools-changed",
            break_words.say_system_changed(),
            diff=changed_lines(former.system, now.system),
        )
    return None


def find_changed_message(
    former: Request, request: Request, drop: Drop | None
) -> MissExplanation | None:
    """Return the first message of the former request that is changed or missing in this one; None if there is none."""
    same, changes = find_parting(former.view, request.view)
    if same >= len(former.view) or not (changes.lost or changes.faded or changes.changed):
        return None
    old_tail = former.view.tail(same)
    new_tail = request.view.tail(same)
    old = old_tail[0] if old_tail else None
    new = new_tail[0] if new_tail else None
    old_lines = message_lines(old) if old else ""
    new_lines = message_lines(new) if new else ""
    drop_reason = drop.why if drop is not None else ""
    first_changed = new or old
    return MissExplanation(
        "prefix-changed",
        evidence=break_words.say_message_changed(drop_reason, same, len(former.view)),
        message=first_changed.id if first_changed else "",
        place=same,
        diff=changed_lines(old_lines, new_lines),
    )
