"""Recorded compactions: what a boundary record says, and which records it keeps from before.

Boundaries were written in three ways: with the trigger alone (2.0.76 to 2.1.42); with a list of records that stay word
for word, which lie before the boundary (2.1.197 on); with such records appended once more after the summary.
"""

from collections.abc import Iterable

from inspector.core.formats.claude_code.chain_nodes import AnswerNode, ChainNode
from inspector.core.formats.claude_code.chain_state import ChainState
from inspector.core.formats.claude_code.records import ChainRecord, numbers
from inspector.core.message import ToolCall
from inspector.core.session import Attached, Compaction
from inspector.core.untyped import object_of, text_at, texts_at, whole_of

_EARLY = (2, 1, 43)
_EARLY_ATTACHED = Attached(9_300, -100, 27_000)
"""After 28 compactions of versions 2.0.76 to 2.1.42: files read again and reminders that the file does not hold."""
_ATTACHED = Attached(1_000, -100, 27_000)
"""Later versions record what they attach, nearly."""


def read_boundary(record: ChainRecord) -> Compaction:
    """A compact_boundary record. `before_request`, `summary` and `kept` are found later."""
    meta = object_of(record.value, "compactMetadata")
    return Compaction(
        before_request=0,
        trigger=text_at(meta, "trigger"),
        tokens_before=whole_of(meta.get("preTokens")),
        tokens_after=whole_of(meta.get("postTokens")),
        line=record.line,
        time=record.time,
        attached=_EARLY_ATTACHED if () < numbers(text_at(record.value, "version")) < _EARLY else _ATTACHED,
    )


def read_micro(record: ChainRecord) -> tuple[Compaction, list[str]]:
    """A microcompact_boundary record: tool calls and attachments whose content was cleared.

    Its `preTokens` counts tool results only, so it is no size of the buffer.
    """
    meta = object_of(record.value, "microcompactMetadata")
    compaction = Compaction(0, text_at(meta, "trigger") or "auto", "micro", line=record.line, time=record.time)
    return compaction, texts_at(meta, "compactedToolIds") + texts_at(meta, "clearedAttachmentUUIDs")


def preserved(record: ChainRecord, chain: ChainState) -> list[str]:
    """uuids of the records that a boundary keeps. Ask before the chain is cut."""
    meta = object_of(record.value, "compactMetadata")
    listed = texts_at(object_of(meta, "preservedMessages"), "uuids")
    segment = object_of(meta, "preservedSegment")
    return listed or _segment(chain, text_at(segment, "headUuid"), text_at(segment, "tailUuid"))


def _segment(chain: ChainState, head: str, tail: str) -> list[str]:
    """The records from `head` to `tail`, both included, along the chain."""
    first, node = chain.nodes.get(head), chain.nodes.get(tail)
    uuids: list[str] = []
    while node is not None and first is not None:
        uuids += reversed(node.uuids())
        if node is first:
            return uuids[uuids.index(head) :: -1] if head in uuids else uuids[::-1]
        node = node.prev
    return []


def keep(chain: ChainState, uuids: Iterable[str]) -> int:
    """Put what these records hold at the end of the chain again. Returns how many of them are not in the file."""
    missing = 0
    groups: dict[int, tuple[ChainNode, list[str]]] = {}
    for uuid in uuids:
        node = chain.nodes.get(uuid)
        if node is None:
            missing += 1
        elif node.epoch != chain.epoch:
            groups.setdefault(id(node), (node, []))[1].append(uuid)
    for node, group in groups.values():
        keep_part(chain, node, group)
    return missing


def keep_part(chain: ChainState, node: ChainNode, uuids: list[str]) -> None:
    """Put these records of a node at the end of the chain again, together with other lines of the same answer."""
    copy = node.part(set(uuids))
    there = chain.calls.get(copy.id) if isinstance(copy, AnswerNode) else None
    if (
        isinstance(copy, AnswerNode)
        and there is not None
        and there.again
        and there.epoch == chain.epoch
        and not there.stretch
    ):
        there.absorb(copy)
        copy = there
    elif copy.drafts():
        chain.keep(copy)
        if isinstance(copy, AnswerNode):
            chain.calls[copy.id] = copy
    if isinstance(copy, AnswerNode):
        chain.tools.update((part.id, copy) for part in copy.parts if isinstance(part, ToolCall))
    chain.nodes.update((uuid, copy) for uuid in uuids)
