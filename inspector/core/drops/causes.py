"""Why messages left the buffer: what a record says, and what two requests show."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from inspector.core.changes import (
    HARMLESS,
    MessageChanges,
)
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
"""prompt: system prompt or tools became smaller; reminders, thinking, images, rewritten: worded otherwise, nothing that
was said is lost; unexplained: the provider counted less, and nothing in the file says why."""

_FELL, _LEAST = 0.02, 500
"""The provider counts less than before: by more than this share, and more than this many tokens."""
_HEAD = 8
"""A summary is among this many new messages at the beginning."""


class Cause(NamedTuple):
    """A kind with its evidence."""

    kind: DropKind
    loss: bool
    """Does the model read less of what was said?"""
    why: str
    marker: str


def explain_record(compaction: Compaction) -> Cause:
    """Return the cause of a compaction that the file records, or that its provider's counts give away."""
    kinds: Mapping[str, tuple[DropKind, str]] = {
        "summary": ("compaction", "The history was replaced by a summary."),
        "micro": ("micro-compaction", "Old tool results were cleared."),
        "edit": ("edit", "Single messages were edited or removed."),
    }
    kind, why = kinds[compaction.kind]
    if compaction.evidence:
        return Cause(
            kind, True, f"{why} {compaction.evidence}", "inferred from the provider's counts"
        )
    return Cause(kind, True, why, " ".join(f"recorded {compaction.trigger} compaction".split()))


def explain_changes(
    changes: MessageChanges, same: int, former: Request, request: Request
) -> Cause | None:
    """Return the cause of changes that no record announces; None where nothing changed after all.

    Args:
        changes: Which messages changed, and how, after the place where both buffers part.
        same: How many messages at the beginning both buffers share.
        former: The request before the changes.
        request: The request that shows them.
    """
    losses = changes.taken
    if not changes.lost and not losses:
        return _explain_rewording(changes, former, request)
    if any(message.summary for message in changes.fresh[:_HEAD]):
        return Cause(
            "compaction",
            True,
            "A summary stands where messages were; no record announces it.",
            "a summary",
        )
    if not changes.lost and changes.counts["cleared"] == len(losses):
        why = f"{len(losses)} tool results were replaced by a placeholder."
        return Cause("micro-compaction", True, why, f"placeholder: {_excerpt(losses[0][1])}")
    if changes.lost and not changes.kept and not changes.changed:
        return _explain_replacement(changes, same)
    if _is_other_model(former, request):
        why = f"With the switch from {former.model} to {request.model} the history was changed."
        return Cause("model switch", True, why, f"{former.model} → {request.model}")
    why = f"{len(changes.lost)} messages were taken out, {len(losses)} were shortened or edited."
    return Cause(
        "edit",
        True,
        why,
        "messages that were removed" if changes.lost else "messages that changed",
    )


def _explain_replacement(changes: MessageChanges, same: int) -> Cause:
    """Return the cause where all after a place is gone: a rewind if a user's message follows, else an edit."""
    if not same:
        return Cause(
            "edit", True, "Nothing of the buffer is left: it begins again.", "no message in common"
        )
    fresh = next((message for message in changes.fresh if message.mark == ""), None)
    if fresh is None or fresh.role == "user":
        why = f"The first {same} messages stand; what followed them was replaced by what the user says now."
        return Cause(
            "rewind", True, why, "the beginning is the same, a new user message follows it"
        )
    why = f"The last {len(changes.lost)} messages were taken away and others put there."
    return Cause("edit", True, why, "messages that were removed")


def _explain_rewording(changes: MessageChanges, former: Request, request: Request) -> Cause | None:
    """Return the cause of changes without a loss; None where there is no change."""
    counts = changes.counts
    if not counts:
        return None
    kind = next(change for change in _HARMLESS_CHANGES if counts[change])
    words = ", ".join(f"{counts[change]} x {change}" for change in HARMLESS if counts[change])
    if _is_other_model(former, request) and kind == "thinking":
        why = f"With the switch from {former.model} to {request.model} thinking of old turns was taken out."
        return Cause("model switch", False, why, words)
    return Cause(kind, False, f"{_HARMLESS_CHANGES[kind]} Nothing that was said is lost.", words)


_HARMLESS_CHANGES: Mapping[Literal["images", "thinking", "rewritten", "reminders"], str] = {
    "images": "Images of old turns were replaced by a word.",
    "thinking": "Thinking of old turns was taken out.",
    "rewritten": "Messages are written otherwise (JSON, white space) and say the same.",
    "reminders": "Reminders of the client moved, changed or were taken out.",
}
"""The weightiest first."""


def explain_counts(former: Request, request: Request) -> Cause | None:
    """Return why the provider counted less though the messages only grew; None if it did not, nor cleared anything."""
    cleared = _count_cleared(request.edits)
    if cleared > _count_cleared(former.edits):
        words = ", ".join(str(edit.get("type", "")) for edit in request.edits)
        why = f"The provider cleared {cleared:,} tokens of what the client sent before the model read it."
        return Cause("server-side clearing", True, why, f"applied_edits: {words}")
    before, after = former.usage, request.usage
    if (
        before is None
        or after is None
        or before.prompt - after.prompt <= max(_LEAST, before.prompt * _FELL)
    ):
        return None
    if cleared and cleared < _count_cleared(former.edits):
        return None
    fell = f"The provider counted {before.prompt:,} tokens, then {after.prompt:,}, while the messages only grew"
    if _is_other_model(former, request):
        why = f"{fell}: another model counts otherwise."
        return Cause("model switch", False, why, f"{former.model} → {request.model}")
    if smaller := _describe_smaller_prompt(former, request):
        return Cause("prompt", False, f"{fell}: {smaller}.", smaller)
    if request.prompt.system is not None:  # the whole body is known: it was not the client
        why = f"{fell}: something was cleared without the client's doing."
        return Cause("server-side clearing", True, why, "the provider's counts")
    return Cause("unexplained", True, f"{fell}, as far as the file says.", "the provider's counts")


def _is_other_model(former: Request, request: Request) -> bool:
    return bool(former.model and request.model) and former.model != request.model


def _count_cleared(edits: Sequence[Mapping[str, Any]]) -> int:
    """Return how many tokens the provider says that it cleared."""
    counts = (edit.get("cleared_input_tokens") for edit in edits)
    return sum(count for count in counts if isinstance(count, int))


def _describe_smaller_prompt(former: Request, request: Request) -> str:
    """Return how the prompt shrank; empty where it did not, or where the file does not hold it."""
    before, after = former.prompt, request.prompt
    if before is after:
        return ""
    if (
        before.tools is not None
        and after.tools is not None
        and len(after.tools) < len(before.tools)
    ):
        return f"{len(before.tools)} tools became {len(after.tools)}"
    if (
        before.system is not None
        and after.system is not None
        and len(after.system) < len(before.system)
    ):
        return "the system prompt became shorter"
    return (
        "tools are described in other words"
        if after.tools is not None and before.tools != after.tools
        else ""
    )


def _excerpt(message: Message) -> str:
    result = message.result
    return " ".join((result.content if result else message.text).split())[:60]
