"""Which kind of change it is, and what tells so: what became of the messages, the records, the provider's counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from inspector.core.changes import HARMLESS, Changes
from inspector.core.message import Message
from inspector.core.session import Compaction, Request

DropKind: TypeAlias = Literal[
    "compaction",
    "micro-compaction",
    "server-side clearing",
    "rewind",
    "model switch",
    "sub-agent",
    "edit",
    "prompt",
    "reminders",
    "thinking",
    "images",
    "rewritten",
    "unexplained",
]
"""prompt: system prompt or tools became smaller; reminders, thinking, images, rewritten: told otherwise, nothing that
was said is lost; unexplained: the provider counted less, and nothing in the file says why."""

_FELL, _LEAST = 0.02, 500
"""The provider counts less than before: by more than this share, and more than so many tokens."""
_HEAD = 8
"""A summary stands among the first so many new messages."""


@dataclass(frozen=True, slots=True)
class Told:
    """A kind with its evidence."""

    kind: DropKind
    loss: bool
    """Does the model read less of what was said?"""
    why: str
    marker: str


def recorded(compaction: Compaction) -> Told:
    """The file announces it, or holds what cannot be explained without it."""
    kinds: Mapping[str, tuple[DropKind, str]] = {
        "summary": ("compaction", "The history was replaced by a summary."),
        "micro": ("micro-compaction", "Old tool results were cleared."),
        "edit": ("edit", "Single messages were edited or removed."),
    }
    kind, why = kinds[compaction.kind]
    if compaction.evidence:
        return Told(kind, True, f"{why} {compaction.evidence}", "inferred from the provider's counts")
    return Told(kind, True, why, " ".join(f"recorded {compaction.trigger} compaction".split()))


def changed(changes: Changes, same: int, former: Request, request: Request) -> Told | None:
    """Nobody announced it. `same`: messages in front that both buffers share. None where nothing changed after all."""
    taken = changes.taken
    if any(message.summary for message in changes.fresh[:_HEAD]) and (changes.lost or taken):
        return Told("compaction", True, "A summary stands where messages were; no record announces it.", "a summary")
    if not changes.lost and not taken:
        return _told_otherwise(changes, former, request)
    if not changes.lost and all(how == "cleared" for _, _, how in taken):
        why = f"{len(taken)} tool results were replaced by a placeholder."
        return Told("micro-compaction", True, why, f"placeholder: {_excerpt(taken[0][1])}")
    if changes.lost and not changes.kept and not changes.changed:
        return _replaced(changes, same)
    if _switched(former, request):
        why = f"With the switch from {former.model} to {request.model} the history was changed."
        return Told("model switch", True, why, f"{former.model} → {request.model}")
    why = f"{len(changes.lost)} messages were taken out, {len(taken)} were shortened or edited."
    return Told("edit", True, why, "messages that are gone" if changes.lost else "messages that read otherwise")


def _replaced(changes: Changes, same: int) -> Told:
    """All behind a place is gone: a rewind where the user speaks anew, else the end was taken away."""
    if not same:
        return Told("edit", True, "Nothing of the buffer is left: it begins anew.", "no message in common")
    fresh = next((message for message in changes.fresh if message.mark == ""), None)
    if fresh is None or fresh.role == "user":
        why = f"The first {same} messages stand; what was behind them was replaced by what the user says now."
        return Told("rewind", True, why, "the beginning is the same, a new user message behind it")
    why = f"The last {len(changes.lost)} messages were taken away and others put there."
    return Told("edit", True, why, "messages that are gone")


def _told_otherwise(changes: Changes, former: Request, request: Request) -> Told | None:
    counts = changes.counts
    if not counts:
        return None
    kind = next(how for how in _WEIGHTIEST if counts[how])
    words = ", ".join(f"{counts[how]} x {how}" for how in HARMLESS if counts[how])
    if _switched(former, request) and kind == "thinking":
        why = f"With the switch from {former.model} to {request.model} thinking of old turns was taken out."
        return Told("model switch", False, why, words)
    return Told(kind, False, f"{_OTHERWISE[kind]} Nothing that was said is lost.", words)


_WEIGHTIEST: tuple[Literal["images", "thinking", "rewritten", "reminders"], ...]
_WEIGHTIEST = ("images", "thinking", "rewritten", "reminders")
_OTHERWISE: Mapping[str, str] = {
    "images": "Images of old turns were replaced by a word.",
    "thinking": "Thinking of old turns was taken out.",
    "rewritten": "Messages are written otherwise (JSON, white space) and say the same.",
    "reminders": "Reminders of the client moved, changed or were taken out.",
}


def counted(former: Request, request: Request) -> Told | None:
    """The messages only grew: did the provider count less, or say that it cleared something?"""
    cleared = _cleared(request.edits)
    if cleared > _cleared(former.edits):
        words = ", ".join(str(one.get("type", "")) for one in request.edits)
        why = f"The provider cleared {cleared:,} tokens of what the client sent before the model read it."
        return Told("server-side clearing", True, why, f"applied_edits: {words}")
    before, after = former.usage, request.usage
    if before is None or after is None or before.prompt - after.prompt <= max(_LEAST, before.prompt * _FELL):
        return None
    if cleared and cleared < _cleared(former.edits):
        return None
    fell = f"The provider counted {before.prompt:,} tokens, then {after.prompt:,}, while the messages only grew"
    if _switched(former, request):
        why = f"{fell}: another model counts otherwise."
        return Told("model switch", False, why, f"{former.model} → {request.model}")
    if smaller := _smaller(former, request):
        return Told("prompt", False, f"{fell}: {smaller}.", smaller)
    if request.prompt.system is not None:  # the whole body is known: it was not the client
        why = f"{fell}: something was cleared behind the client's back."
        return Told("server-side clearing", True, why, "the provider's counts")
    return Told("unexplained", True, f"{fell}, as far as the file tells.", "the provider's counts")


def _switched(former: Request, request: Request) -> bool:
    return bool(former.model and request.model) and former.model != request.model


def _cleared(edits: Sequence[Mapping[str, Any]]) -> int:
    told = (one.get("cleared_input_tokens") for one in edits)
    return sum(one for one in told if isinstance(one, int))


def _smaller(former: Request, request: Request) -> str:
    """How the prompt shrank; empty where it did not, or where the file does not hold it."""
    before, after = former.prompt, request.prompt
    if before is after:
        return ""
    if before.tools is not None and after.tools is not None and len(after.tools) < len(before.tools):
        return f"{len(before.tools)} tools became {len(after.tools)}"
    if before.system is not None and after.system is not None and len(after.system) < len(before.system):
        return "the system prompt became shorter"
    return "tools are told in other words" if after.tools is not None and before.tools != after.tools else ""


def _excerpt(message: Message) -> str:
    result = message.result
    return " ".join((result.content if result else message.text).split())[:60]
