"""What a tier did: the buffer after, the fate of every message, and the events it would have sent."""

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
    """The fate of one message. `before` is None for an inserted one, `after` for one that is gone."""

    id: str
    name: FateName
    before: Message | None
    after: Message | None


R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[R]):
    """`running` is the policy's running state afterwards (breaker, calibration, working summary, ...)."""

    tier: str
    buffer: Buffer
    running: R
    events: tuple[Event, ...] = ()
    succeeded: bool = True
    error: str = ""
    """Why it did not succeed: provider_failure, contract_violation, overflow_after_retries, ...; empty for none."""
    changed: Mapping[str, FateName] = field(default_factory=dict)
    """Fate by message id, for the messages of the buffer before that were not kept."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Id after by id before, of messages that have another id afterwards: only a recording gives them new ones."""


def fates(before: Buffer, outcome: Outcome[R]) -> tuple[Fate, ...]:
    """Return every message of both buffers once, in the order of reading: an exact merge by id. O(n).

    Removed messages are at their place before; inserted ones at their place after.
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
                Fate(message.id, outcome.changed.get(message.id, "dropped"), message, None)
            )
            continue
        while queue and queue[0].id not in old_ids:
            inserted = queue.popleft()
            merged.append(Fate(inserted.id, "inserted", None, inserted))
        merged.append(Fate(later.id, _fate_name(message, later, outcome.changed), message, later))
        if queue and queue[0].id == later.id:
            queue.popleft()
    merged += [
        Fate(message.id, "inserted", None, message)
        for message in queue
        if message.id not in old_ids
    ]
    return tuple(merged)


def _fate_name(before: Message, after: Message, changed: Mapping[str, FateName]) -> FateName:
    if after is before or after == before:
        return "kept"
    return changed.get(before.id, "replaced")
