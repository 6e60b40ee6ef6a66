"""Add one record to the chain of its agent.

Every record with a uuid maps to a node of the chain. Records that are not sent (`progress`, `system`) map to the node
of their parent. A tool result belongs to the answer that made the tool call, whatever its parent is.

The client has written the boundary of a compaction in three ways: with the trigger alone (2.0.76 to 2.1.42); with a
list of earlier records that stay word for word (2.1.197 on); with such records appended again after the summary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from inspector.core.dialects.anthropic import read_block, read_wire_messages
from inspector.core.formats.claude_code.attachments import read_attachment
from inspector.core.formats.claude_code.chain_nodes import AnswerNode, ChainNode
from inspector.core.formats.claude_code.chain_state import ChainState
from inspector.core.formats.claude_code.records import ChainRecord, ProblemLog, numbers
from inspector.core.message import Message, Part, Text, ToolCall
from inspector.core.session import Attached, Compaction
from inspector.core.untyped import count_of, object_of, text_at, texts_at, whole_of
from inspector.core.usage import ABSURD, is_absurd

_CONTENT = (str, list)
"""Types that the content of a message may have."""


def find_parent(chain: ChainState, record: ChainRecord) -> ChainNode:
    """Return the node of a record's parent, and set `chain.linked` if the file holds it.

    Return the last node of the chain if the file does not hold the parent, or if only the order of the file counts
    (`chain.listed`).
    """
    node = None if chain.listed else chain.nodes.get(record.parent or "")
    if node is None:
        return chain.tail
    chain.linked = True
    return node


def _root_or_parent(chain: ChainState, record: ChainRecord) -> ChainNode:
    return chain.start if record.parent is None and chain.linked else find_parent(chain, record)


def pass_by(chain: ChainState, record: ChainRecord) -> None:
    """Take a record that is not sent: map it to its parent's node, or to the start of the chain without a parent."""
    chain.nodes[record.uuid] = _root_or_parent(chain, record)


def take_copy(chain: ChainState, record: ChainRecord) -> None:
    """Take a record that was read before. Add it again only if its parent lies after the latest boundary."""
    node = chain.nodes[record.uuid]
    parent = chain.nodes.get(record.parent or "")
    if node.epoch != chain.epoch and parent is not None and parent.epoch == chain.epoch:
        _keep_part(chain, node, [record.uuid])


def is_copy(chain: ChainState, record: ChainRecord) -> bool:
    """Does a record repeat an earlier record with the same uuid? Always True for records that are not messages."""
    node = chain.nodes[record.uuid]
    content = object_of(record.value, "message").get("content")
    kind = record.value.get("type")
    if kind not in ("user", "assistant") or not isinstance(content, _CONTENT):
        return True
    if kind == "assistant":
        return _is_known_answer(chain, node, record)
    texts = {draft.text for draft in node.drafts() if draft.result is None}
    for message in read_wire_messages("user", content, id=record.uuid):
        result = message.result
        is_known = (
            message.text in texts if result is None else _has_result(chain, node, result.call_id)
        )
        if not is_known:
            return False
    return True


def _is_known_answer(chain: ChainState, node: ChainNode, record: ChainRecord) -> bool:
    """Are all blocks of this record already in its answer or in the drafts of its node?"""
    parts = _parts(record)
    call_id = text_at(object_of(record.value, "message"), "id") or text_at(
        record.value, "requestId"
    )
    for call in (node, chain.calls.get(call_id)):
        if isinstance(call, AnswerNode) and call.holds(parts):
            return True
    drafted = [part for draft in node.drafts() for part in draft.parts]
    return bool(parts) and all(part in drafted for part in parts)


def _has_result(chain: ChainState, node: ChainNode, call_id: str) -> bool:
    """Does the chain hold a result for this tool call?"""
    calls = (node, chain.tools.get(call_id))
    return call_id in chain.strays or any(
        isinstance(call, AnswerNode) and call_id in call.results for call in calls
    )


def _place(chain: ChainState, record: ChainRecord, node: ChainNode) -> None:
    if chain.listed or record.parent not in chain.nodes:
        node.waits = record.parent or ""
    find_place = find_parent if isinstance(node, AnswerNode) else _root_or_parent
    chain.place(node, find_place(chain, record))


def _set_node(chain: ChainState, record: ChainRecord, node: ChainNode) -> None:
    """Map the record to this node. Nodes from before a boundary that wait for the record follow the node."""
    chain.nodes[record.uuid] = node
    if chain.waiting:
        for waiting in chain.waiting.pop(record.uuid, ()):
            copy = waiting.part(waiting.uuids())
            chain.place(copy, chain.tail)
            chain.nodes.update((uuid, copy) for uuid in waiting.uuids())


# ---- messages of the user's side -------------------------------------------------------------------------------------


def take_user(chain: ChainState, record: ChainRecord, findings: ProblemLog) -> None:
    """Take a `user` record: a prompt, a summary, text that the client adds, or tool results."""
    value = record.value
    content = object_of(value, "message").get("content")
    is_summary = value.get("isCompactSummary") is True
    if not isinstance(content, _CONTENT):
        findings.add("user record without content", record.line, value, record.file)
        pass_by(chain, record)
    elif not content or (value.get("isVisibleInTranscriptOnly") is True and not is_summary):
        pass_by(chain, record)
    elif not _repeats_words(chain, record, content):
        _take_content(chain, record, content, is_summary=is_summary)


def _repeats_words(chain: ChainState, record: ChainRecord, content: str | list[Any]) -> bool:
    """Map a record that copies an earlier record under a new uuid to the earlier node. False if it is no copy."""
    if not isinstance(content, str) or not record.time:
        return False
    first = chain.nodes.get(chain.uuids_by_words.setdefault((record.time, content), record.uuid))
    if first is None or first.prev is not _root_or_parent(chain, record):
        return False
    chain.nodes[record.uuid] = first
    return True


def _take_content(
    chain: ChainState, record: ChainRecord, content: str | list[Any], *, is_summary: bool
) -> None:
    is_meta = record.value.get("isMeta") is True
    messages = read_wire_messages(
        "user",
        content,
        id=chain.name(record.uuid),
        line=record.line,
        time=record.time,
        summary=is_summary,
        mark="meta" if is_meta else "",
    )
    if is_summary:
        _take_summary(chain, record, messages)
    elif record.parent is None and chain.calls and _is_accepted_plan(record.value, content):
        _cut(chain, _compaction({"trigger": "plan"}, record))
        _take_summary(chain, record, tuple(replace(message, summary=True) for message in messages))
    else:
        words = [message for message in messages if not _take_result(chain, record, message)]
        if words:
            is_typed = not is_meta and len(words) == len(messages)
            _take_words(chain, record, ChainNode(words), is_typed=is_typed)


def _is_accepted_plan(value: Mapping[str, Any], content: str | list[Any]) -> bool:
    """Did the user accept a plan and clear the context? The model then reads only the plan and its attachments."""
    return bool(text_at(value, "planContent")) or (
        isinstance(content, str) and content.startswith(_PLAN)
    )


_PLAN = "Implement the following plan:"


def _take_words(chain: ChainState, record: ChainRecord, node: ChainNode, *, is_typed: bool) -> None:
    is_rewound = record.parent is None and chain.linked  # to the beginning of the chain
    if is_typed and not chain.listed and (is_rewound or record.parent in chain.nodes):
        chain.place_prompt(node, _root_or_parent(chain, record))
    else:
        _place(chain, record, node)
    _set_node(chain, record, node)


def _take_result(chain: ChainState, record: ChainRecord, message: Message) -> bool:
    """Add a tool result to the answer that made the tool call. False if the message is not a tool result."""
    result = message.result
    if result is None:
        return False
    call = chain.tools.get(result.call_id)
    results = chain.strays if call is None else call.results
    if call is not None and call.stretch is None:
        call.add_result(message)
        chain.nodes[record.uuid] = call
    elif result.call_id in results:
        chain.nodes[record.uuid] = call or find_parent(chain, record)
    else:
        results[result.call_id] = message
        node = ChainNode([message])
        chain.place(node, chain.tail if call is not None else find_parent(chain, record))
        chain.nodes[record.uuid] = node
    return True


# ---- answers of the model -------------------------------------------------------------------------------------------


def take_answer(chain: ChainState, record: ChainRecord, findings: ProblemLog) -> Sequence[ToolCall]:
    """Take an `assistant` record: one line of an answer. Return the tool calls that the line adds."""
    value = record.value
    message = value.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("content"), _CONTENT):
        findings.add("assistant record without content", record.line, value, record.file)
        pass_by(chain, record)
        return ()
    if value.get("isApiErrorMessage") is True:
        pass_by(chain, record)
        return ()
    call_id = text_at(message, "id") or text_at(value, "requestId") or record.uuid
    call = _find_call(chain, record, call_id, findings)
    if call.stretch is not None:
        return _take_late_line(chain, record, call)
    has_sane_counts = call.add_figures(message, value.get("version"))
    if not call.lines:
        _place(chain, record, call)  # after its usage, which shows what was sent
    if not has_sane_counts:
        findings.add(ABSURD, record.line, value, record.file)
    chain.nodes[record.uuid] = call
    tool_calls = call.add_line(record.uuid, _new_parts(chain, record))
    for tool_call in tool_calls:
        chain.tools[tool_call.id] = call
    return tool_calls


def _new_parts(chain: ChainState, record: ChainRecord) -> Sequence[Part]:
    """Return the parts of a line. In a file without parent links (`listed`), leave out repeated tool calls."""
    parts = _parts(record)
    if not chain.listed:
        return parts
    return [part for part in parts if not isinstance(part, ToolCall) or part.id not in chain.tools]


def _find_call(
    chain: ChainState, record: ChainRecord, call_id: str, findings: ProblemLog
) -> AnswerNode:
    """Return the answer to which a line belongs, a new one if the line begins an answer."""
    value = record.value
    call = chain.calls.get(call_id)
    name = f"{call_id}~" if call_id in chain.nodes else call_id  # a record has this id
    if call is not None and _is_another(call, record):
        what = "answers of different calls share one message id: they are taken as separate calls"
        findings.add_kind(what, record.line, value, record.file)
        call, name = None, f"{call_id}@{record.line}"
    if call is None:
        model = text_at(value["message"], "model")
        call = AnswerNode(name, record.line, record.time, model, real=model != "<synthetic>")
        call.request = text_at(value, "requestId")
        chain.calls[call_id] = call
    return call


def _is_another(call: AnswerNode, record: ChainRecord) -> bool:
    """Does this record belong to another model call although its message id is the same (in a redacted file)?

    Each line of one answer has an earlier line as its parent, or repeats the request id or the size of the prompt.
    """
    if any(record.parent == uuid for uuid, _ in reversed(call.lines)):  # it is mostly the last line
        return False
    request = text_at(record.value, "requestId")
    message = record.value["message"]
    if request and call.request:
        return request != call.request
    return call.has_other_prompt(message.get("usage"))


def _parts(record: ChainRecord) -> list[Part]:
    """Return the blocks of a line as the model wrote them."""
    content = record.value["message"]["content"]
    if isinstance(content, str):
        return [Text(content)]
    parts = [read_block(block) for block in content]
    for n, part in enumerate(parts):
        if type(part) is ToolCall and part.name == "ExitPlanMode":
            parts[n] = _as_called(part, record)
    return parts


def _as_called(call: ToolCall, record: ChainRecord) -> ToolCall:
    """Return an ExitPlanMode call as it was sent, without the plan that the client copies into it from a file."""
    version = numbers(text_at(record.value, "version"))
    arguments = call.arguments
    if not isinstance(arguments, dict) or () < version < _PLANS_IN_FILES:
        return call
    return ToolCall(
        call.id, call.name, {key: value for key, value in arguments.items() if key not in _COPIED}
    )


_COPIED = frozenset({"plan", "planFilePath"})
_PLANS_IN_FILES = (2, 0, 51)
"""First version in which the model writes its plan to a file and not into the call."""


def _take_late_line(chain: ChainState, record: ChainRecord, call: AnswerNode) -> Sequence[ToolCall]:
    """Take a line of an answer that was already sent. New parts become a separate message; copies are skipped."""
    parts = [part for part in _parts(record) if part not in call.parts]
    chain.nodes[record.uuid] = call
    if parts:
        message = Message(
            chain.name(record.uuid), "assistant", tuple(parts), line=record.line, time=record.time
        )
        node = ChainNode([message])
        chain.place(node, chain.tail)
        chain.nodes[record.uuid] = node
    tool_calls = [part for part in parts if isinstance(part, ToolCall)]
    chain.tools.update((tool_call.id, call) for tool_call in tool_calls)
    return tool_calls


# ---- records of the client ------------------------------------------------------------------------------------------


def take_attachment(chain: ChainState, record: ChainRecord, findings: ProblemLog) -> None:
    """Take an `attachment` record: a reminder, or a prompt typed while the agent worked."""
    messages = read_attachment(record, chain.name(record.uuid))
    if messages is None:
        kind = text_at(object_of(record.value, "attachment"), "type")
        findings.add_kind(
            f"unknown attachment {kind[:40]!r}", record.line, record.value, record.file
        )
    if not messages:
        pass_by(chain, record)
        return
    node = ChainNode(messages)
    _place(chain, record, node)
    _set_node(chain, record, node)


def take_system(chain: ChainState, record: ChainRecord, findings: ProblemLog) -> None:
    """Take a `system` record. Only boundaries of compactions change the buffer; other records are not sent."""
    match record.value.get("subtype"):
        case "compact_boundary":
            meta = object_of(record.value, "compactMetadata")
            uuids = _preserved(meta, chain)
            if is_absurd(meta):
                findings.add(ABSURD, record.line, record.value, record.file)
            _cut(chain, _compaction(meta, record))
            chain.nodes[record.uuid] = chain.tail
            chain.keeping = partial(_keep, chain, record, uuids, findings)
        case "microcompact_boundary":
            # Its `preTokens` is not the size of the buffer.
            meta = object_of(record.value, "microcompactMetadata")
            micro = Compaction(
                before_request=0,
                trigger=text_at(meta, "trigger") or "auto",
                kind="micro",
                line=record.line,
                time=record.time,
            )
            ids = texts_at(meta, "compactedToolIds") + texts_at(meta, "clearedAttachmentUUIDs")
            chain.clear(micro, ids, saved=count_of(meta.get("tokensSaved")))
            pass_by(chain, record)
        case _:
            pass_by(chain, record)


def _cut(chain: ChainState, compaction: Compaction) -> None:
    for node in chain.cut(compaction):
        chain.waiting.setdefault(node.waits, []).append(node)


def _take_summary(chain: ChainState, record: ChainRecord, messages: tuple[Message, ...]) -> None:
    """Begin the buffer after a boundary with the summary, followed by the messages that the boundary keeps."""
    if not chain.awaits_summary():
        _cut(chain, Compaction(before_request=0, trigger="", line=record.line, time=record.time))
    node, keeping = ChainNode(messages), chain.keeping
    chain.keeping = None
    chain.place(node, chain.tail)
    chain.set_summary(messages[0])
    if keeping is not None:
        keeping()
    _set_node(chain, record, node)


# ---- boundaries of compactions ---------------------------------------------------------------------------------------

_EARLY = (2, 1, 43)
_EARLY_ATTACHED = Attached(usual=9_300, least=-100, most=27_000)
"""Fitted to 28 compactions of versions 2.0.76 to 2.1.42: re-attached files and reminders that are not recorded."""
_ATTACHED = Attached(usual=1_000, least=-100, most=27_000)
"""Later versions record nearly everything that they attach."""


def _compaction(meta: Mapping[str, Any], record: ChainRecord) -> Compaction:
    """Return the compaction of a boundary. The chain sets `before_request`, `summary` and `kept` later."""
    is_early = () < numbers(text_at(record.value, "version")) < _EARLY
    return Compaction(
        before_request=0,
        trigger=text_at(meta, "trigger"),
        tokens_before=whole_of(meta.get("preTokens")),
        tokens_after=whole_of(meta.get("postTokens")),
        line=record.line,
        time=record.time,
        attached=_EARLY_ATTACHED if is_early else _ATTACHED,
    )


def _preserved(meta: Mapping[str, Any], chain: ChainState) -> list[str]:
    """Return the uuids of the records that a boundary keeps. Call before the chain is cut."""
    listed = texts_at(object_of(meta, "preservedMessages"), "uuids")
    segment = object_of(meta, "preservedSegment")
    return listed or _segment(chain, text_at(segment, "headUuid"), text_at(segment, "tailUuid"))


def _segment(chain: ChainState, head: str, tail: str) -> list[str]:
    """Return the uuids of the records from `head` to `tail` along the chain, both included."""
    first = chain.nodes.get(head)
    node = chain.nodes.get(tail)
    uuids: list[str] = []
    while node is not None and first is not None:
        uuids += reversed(node.uuids())
        if node is first:
            return uuids[uuids.index(head) :: -1] if head in uuids else uuids[::-1]
        node = node.prev
    return []


def _keep(
    chain: ChainState, boundary: ChainRecord, uuids: Sequence[str], findings: ProblemLog
) -> None:
    """Append the messages of these records to the chain again. Note a problem if the file lacks some of them."""
    groups: dict[int, tuple[ChainNode, list[str]]] = {}
    missing = 0
    for uuid in uuids:
        node = chain.nodes.get(uuid)
        if node is None:
            missing += 1
        elif node.epoch != chain.epoch:
            groups.setdefault(id(node), (node, []))[1].append(uuid)
    for node, group in groups.values():
        _keep_part(chain, node, group)
    if missing:
        what = f"{missing} of {len(uuids)} records that the compaction kept are not in this file"
        findings.add(
            what, boundary.line, object_of(boundary.value, "compactMetadata"), boundary.file
        )


def _keep_part(chain: ChainState, node: ChainNode, uuids: list[str]) -> None:
    """Append these records of a node to the chain again, joined with other kept lines of the same answer."""
    copy = node.part(set(uuids))
    if isinstance(copy, AnswerNode):
        earlier = chain.calls.get(copy.id)
        is_open = (
            earlier is not None
            and earlier.again
            and earlier.epoch == chain.epoch
            and earlier.stretch is None
        )
        if earlier is not None and is_open:
            earlier.absorb(copy)
            copy = earlier
        elif copy.drafts():
            chain.keep(copy)
            chain.calls[copy.id] = copy
        chain.tools.update((part.id, copy) for part in copy.parts if isinstance(part, ToolCall))
    elif copy.drafts():
        chain.keep(copy)
    chain.nodes.update((uuid, copy) for uuid in uuids)
