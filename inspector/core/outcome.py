"""What a tier did: the buffer after, the fate of every message, and the events it would have sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeAlias, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.message import Json, Message

FateName: TypeAlias = Literal["kept", "cleared", "cut", "replaced", "summarised", "dropped", "inserted"]
"""kept: untouched; cleared: content replaced by a placeholder; cut: shortened; replaced: other content, same id;
summarised: gone, stands for in a summary; dropped: gone without a trace; inserted: new."""


@dataclass(frozen=True, slots=True)
class Event:
    """A harness event by its own name, with its own fields."""

    name: str
    fields: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one message. `before` is None for an inserted one, `after` for one that is gone."""

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
    """Id after by id before, of messages that stand there under another one: only a recording gives them new ones."""


def fates(before: Buffer, outcome: Outcome[R]) -> tuple[Fate, ...]:
    """Every message of both buffers once, in the order of reading: a merge by id, never a guess. O(n).

    Gone messages stand where they stood before; inserted ones where they stand after.
    """
    after, renamed = {message.id: message for message in outcome.buffer.messages}, outcome.renamed
    old = {renamed.get(message.id, message.id) for message in before.messages}
    found: list[Fate] = []
    new = iter(outcome.buffer.messages)
    waiting = next(new, None)
    for message in before.messages:
        then = after.get(renamed.get(message.id, message.id))
        while waiting is not None and waiting.id not in old and then is not None:
            found.append(Fate(waiting.id, "inserted", None, waiting))
            waiting = next(new, None)
        found.append(Fate(then.id if then else message.id, _name(message, then, outcome.changed), message, then))
        if waiting is not None and then is not None and waiting.id == then.id:
            waiting = next(new, None)
    while waiting is not None:
        if waiting.id not in old:
            found.append(Fate(waiting.id, "inserted", None, waiting))
        waiting = next(new, None)
    return tuple(found)


def _name(before: Message, after: Message | None, changed: Mapping[str, FateName]) -> FateName:
    if after is None:
        return changed.get(before.id, "dropped")
    if after is before or after == before:
        return "kept"
    return changed.get(before.id, "replaced")
