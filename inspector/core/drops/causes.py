"""Explain why messages left the buffer, from a record of the file or from the difference between two requests."""

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
"""prompt: system prompt or tools became smaller; reminders, thinking, images, rewritten: changes of this kind without a
loss of conversation; unexplained: the provider counted fewer tokens, and nothing in the file explains it."""

_FELL, _LEAST = 0.02, 500
"""The provider's count fell if it is lower by more than the share `_FELL` and by more than `_LEAST` tokens."""
_HEAD = 8
"""Number of new messages, from the first, among which a summary is searched."""


class Cause(NamedTuple):
    """Why a buffer changed: the kind of the change and its evidence."""

    kind: DropKind
    loss: bool
    """True if part of the conversation is no longer sent to the model."""
    why: str
    marker: str


def explain_record(compaction: Compaction) -> Cause:
    """Return the cause of a compaction that the file records, or that is inferred from the provider's counts."""
    kinds: Mapping[str, tuple[DropKind, str]] = {
        "summary": ("compaction", "The history was replaced by a summary."),
        "micro": ("micro-compaction", "Old tool results were cleared."),
        "edit": ("edit", "Single messages were edited or removed."),
    }
    kind, why = kinds[compaction.kind]
    if compaction.evidence:
        return Cause(
            kind,
            loss=True,
            why=f"{why} {compaction.evidence}",
            marker="inferred from the provider's counts",
        )
    return Cause(
        kind,
        loss=True,
        why=why,
        marker=" ".join(f"recorded {compaction.trigger} compaction".split()),
    )


def explain_changes(
    changes: MessageChanges, same: int, former: Request, request: Request
) -> Cause | None:
    """Return the cause of changes that no record announces; None if nothing changed.

    Args:
        changes: The changes of the messages after the common beginning of both buffers.
        same: Number of messages in the common beginning.
        former: The request before the changes.
        request: The first request with the changes.
    """
    losses = changes.taken
    if not changes.lost and not losses:
        return _explain_rewording(changes, former, request)
    if any(message.summary for message in changes.fresh[:_HEAD]):
        return Cause(
            "compaction",
            loss=True,
            why="A summary replaced messages, and no record announces the compaction.",
            marker="a summary",
        )
    if not changes.lost and changes.counts["cleared"] == len(losses):
        _, placeholder, _ = losses[0]
        return Cause(
            "micro-compaction",
            loss=True,
            why=f"{len(losses)} tool results were replaced by a placeholder.",
            marker=f"placeholder: {_excerpt(placeholder)}",
        )
    if changes.lost and not changes.kept and not changes.changed:
        return _explain_replacement(changes, same)
    if _is_other_model(former, request):
        why = f"The history changed when the model was switched from {former.model} to {request.model}."
        return Cause("model switch", loss=True, why=why, marker=f"{former.model} → {request.model}")
    why = f"{len(changes.lost)} messages were removed, {len(losses)} were shortened or edited."
    marker = "messages that were removed" if changes.lost else "messages that changed"
    return Cause("edit", loss=True, why=why, marker=marker)


def _explain_replacement(changes: MessageChanges, same: int) -> Cause:
    """Return the cause if all messages after the first `same` were removed: a rewind if a user message follows.

    In all other cases the cause is an edit.
    """
    if not same:
        return Cause(
            "edit",
            loss=True,
            why="The whole buffer was replaced by a new one.",
            marker="no message in common",
        )
    fresh = next((message for message in changes.fresh if message.mark == ""), None)
    if fresh is None or fresh.role == "user":
        why = f"The first {same} messages are unchanged; a new user message replaced those after them."
        return Cause(
            "rewind",
            loss=True,
            why=why,
            marker="the beginning is the same, a new user message follows it",
        )
    why = f"The last {len(changes.lost)} messages were removed and replaced by others."
    return Cause("edit", loss=True, why=why, marker="messages that were removed")


def _explain_rewording(changes: MessageChanges, former: Request, request: Request) -> Cause | None:
    """Return the cause of changes without a loss; None if there is no change."""
    counts = changes.counts
    if not counts:
        return None
    kind = next(change for change in _HARMLESS_CHANGES if counts[change])
    words = ", ".join(f"{counts[change]} x {change}" for change in HARMLESS if counts[change])
    if _is_other_model(former, request) and kind == "thinking":
        why = (
            f"Thinking blocks of earlier turns were removed when the model was switched from {former.model} "
            f"to {request.model}."
        )
        return Cause("model switch", loss=False, why=why, marker=words)
    return Cause(
        kind,
        loss=False,
        why=f"{_HARMLESS_CHANGES[kind]} No text of the conversation was lost.",
        marker=words,
    )


_HARMLESS_CHANGES: Mapping[Literal["images", "thinking", "rewritten", "reminders"], str] = {
    "images": "Images of earlier turns were replaced by a placeholder.",
    "thinking": "Thinking blocks of earlier turns were removed.",
    "rewritten": "Messages have the same content in another format (JSON, white space).",
    "reminders": "Reminders of the client moved, changed or were removed.",
}
"""Sentences about harmless changes, by kind, most important first."""


def explain_counts(former: Request, request: Request) -> Cause | None:
    """Return why the provider's count fell although the messages only grew.

    Return None if the count did not fall and the provider cleared nothing more than before.
    """
    cleared = _count_cleared(request.edits)
    if cleared > _count_cleared(former.edits):
        words = ", ".join(str(edit.get("type", "")) for edit in request.edits)
        why = f"The provider cleared {cleared:,} tokens of what the client sent before the model read it."
        return Cause("server-side clearing", loss=True, why=why, marker=f"applied_edits: {words}")
    before = former.usage
    after = request.usage
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
        why = f"{fell}: another model counts differently."
        return Cause(
            "model switch", loss=False, why=why, marker=f"{former.model} → {request.model}"
        )
    if smaller := _describe_smaller_prompt(former, request):
        return Cause("prompt", loss=False, why=f"{fell}: {smaller}.", marker=smaller)
    # The whole body is recorded, so the client did not remove anything.
    if request.prompt.system is not None:
        why = f"{fell}: something other than the client cleared content."
        return Cause("server-side clearing", loss=True, why=why, marker="the provider's counts")
    return Cause(
        "unexplained",
        loss=True,
        why=f"{fell}; the file does not show why.",
        marker="the provider's counts",
    )


def _is_other_model(former: Request, request: Request) -> bool:
    return bool(former.model and request.model) and former.model != request.model


def _count_cleared(edits: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of tokens that the provider reports as cleared."""
    counts = (edit.get("cleared_input_tokens") for edit in edits)
    return sum(count for count in counts if isinstance(count, int))


def _describe_smaller_prompt(former: Request, request: Request) -> str:
    """Describe how the system prompt or the tools shrank; empty if they did not, or are not recorded."""
    before = former.prompt
    after = request.prompt
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
    if after.tools is not None and before.tools != after.tools:
        return "the descriptions of tools changed"
    return ""


def _excerpt(message: Message) -> str:
    result = message.result
    return " ".join((result.content if result else message.text).split())[:60]
