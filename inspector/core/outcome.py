"""The result of a tier: the buffer afterwards, the fate of every message, and the events of the harness."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeAlias, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.message import Json, Message

FateName: TypeAlias = Literal[
    "kept", "cleared", "cut", "replaced", "summarised", "dropped", "inserted"
]
"""kept: untouched; cleared: content replaced by a placeholder; cut: shortened; replaced: other content, same id;
summarised: replaced by a summary; dropped: removed without a replacement; inserted: new."""


@dataclass(frozen=True, slots=True)
class Event:
    """A harness event by its own name, with its own fields."""

    name: str
    fields: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fate:
    """The fate of one message. `before` is None for an inserted message, `after` is None for a removed one."""

    id: str
    name: FateName
    before: Message | None
    after: Message | None


R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[R]):
    """The result of a tier.

    `buffer` and `running` are the buffer and the policy's running state (breaker, calibration, ...) afterwards.
    """

    tier: str
    buffer: Buffer
    running: R
    events: tuple[Event, ...] = ()
    succeeded: bool = True
    error: str = ""
    """Why the tier failed: provider_failure, contract_violation, overflow_after_retries, ...; empty if it did not."""
    changed: Mapping[str, FateName] = field(default_factory=dict)
    """Fate by message id, for the messages of the old buffer that were not kept."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """New id by old id, for messages whose id changed. Only recorded outcomes have any."""


def fates(before: Buffer, outcome: Outcome[R]) -> tuple[Fate, ...]:
    """Return the fate of every message of both buffers, each once, in reading order: an exact merge by id. O(n).

    A removed message keeps its position in the old buffer, an inserted message its position in the new one.
    """
    renamed = outcome.renamed
    later_by_id = {message.id: message for message in outcome.buffer.messages}
    old_ids = {renamed.get(message.id, message.id) for message in before.messages}
    queue = deque(outcome.buffer.messages)
    merged: list[Fate] = []
    for message in before.messages:
        later = later_by_id.get(renamed.get(message.id, message.id))
        if later is None:
            merged.append(
                Fate(
                    message.id,
                    name=outcome.changed.get(message.id, "dropped"),
                    before=message,
                    after=None,
                )
            )
            continue
        while queue and queue[0].id not in old_ids:
            inserted = queue.popleft()
            merged.append(Fate(inserted.id, name="inserted", before=None, after=inserted))
        merged.append(
            Fate(later.id, _fate_name(message, later, outcome.changed), before=message, after=later)
        )
        if queue and queue[0].id == later.id:
            queue.popleft()
    merged += [
        Fate(message.id, name="inserted", before=None, after=message)
        for message in queue
        if message.id not in old_ids
    ]
    return tuple(merged)


def _fate_name(before: Message, after: Message, changed: Mapping[str, FateName]) -> FateName:
    if after is before or after == before:
        return "kept"
    return changed.get(before.id, "replaced")
