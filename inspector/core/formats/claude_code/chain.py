"""One record into the row of its agent.

Every record with a uuid has a place in the chain, also those that are not sent (`progress`, `system`): they stand for
the unit they hang on. A tool result belongs to the answer that called, wherever it hangs.
"""

from collections.abc import Sequence
from functools import partial

from inspector.core.dialects.anthropic import read_messages, read_part
from inspector.core.formats.claude_code.attachments import read_attachment
from inspector.core.formats.claude_code.chain_nodes import Call, Unit
from inspector.core.formats.claude_code.chain_state import Row
from inspector.core.formats.claude_code.compaction import keep, keep_part, preserved, read_boundary, read_micro
from inspector.core.formats.claude_code.problems import Findings
from inspector.core.formats.claude_code.records import Record, mapping, text
from inspector.core.formats.claude_code.usage import numbers
from inspector.core.message import Message, Part, Text, ToolCall
from inspector.core.session import Compaction
from inspector.core.usage import ABSURD, is_absurd

_CONTENT = (str, list)
"""What the content of a message may be."""


def before(row: Row, record: Record) -> Unit:
    """The unit that a record hangs on; the last one where the file does not hold its parent."""
    unit = row.nodes.get(record.parent) if record.parent is not None and not row.listed else None
    if unit is None:
        return row.tail
    row.linked = True
    return unit


def _root_or_before(row: Row, record: Record) -> Unit:
    return row.start if record.parent is None and row.linked else before(row, record)


def pass_by(row: Row, record: Record) -> None:
    """A record that is not sent: it stands for what it hangs on; one that hangs on nothing for a new beginning."""
    row.nodes[record.uuid] = _root_or_before(row, record)


def take_copy(row: Row, record: Record) -> None:
    """A record that was read before. It counts again only where it was re-appended behind a boundary."""
    unit = row.nodes[record.uuid]
    parent = row.nodes.get(record.parent) if record.parent is not None else None
    if unit.epoch != row.epoch and parent is not None and parent.epoch == row.epoch:
        keep_part(row, unit, [record.uuid])


def is_copy(row: Row, record: Record) -> bool:
    """Does a record say what the one before it with the same uuid said? Of others than messages nobody can tell."""
    message, unit = mapping(record.value, "message"), row.nodes[record.uuid]
    content, kind = message.get("content"), record.value.get("type")
    if kind not in ("user", "assistant") or not isinstance(content, _CONTENT):
        return True
    if kind == "assistant":
        calls, parts = (unit, row.calls.get(text(message, "id") or text(record.value, "requestId"))), _parts(record)
        late = [part for said in unit.drafts() for part in said.parts]
        known = any(isinstance(call, Call) and call.holds(parts) for call in calls)
        return known or (bool(parts) and all(part in late for part in parts))
    said = {known.text for known in unit.drafts() if known.result is None}
    return all(
        read.text in said if read.result is None else _is_known(row, unit, read.result.call_id)
        for read in read_messages("user", content, id=record.uuid)
    )


def _is_known(row: Row, unit: Unit, call_id: str) -> bool:
    """Has a result for this call come?"""
    calls = (unit, row.tools.get(call_id))
    return call_id in row.strays or any(isinstance(call, Call) and call_id in call.results for call in calls)


def _place(row: Row, record: Record, unit: Unit) -> None:
    on = row.nodes.get(record.parent) if record.parent is not None else None
    if record.parent is None and row.linked and not isinstance(unit, Call):
        on = row.start
    if on is None or row.listed:
        on, unit.waits = row.tail, record.parent or ""
    else:
        row.linked = True
    row.place(unit, on)


def _take_over(row: Row, record: Record, unit: Unit) -> None:
    """The record stands for this unit. Units that waited for it from before a boundary come right behind it."""
    row.nodes[record.uuid] = unit
    if row.waiting:
        for waiting in row.waiting.pop(record.uuid, ()):
            copy = waiting.part(waiting.uuids())
            row.place(copy, row.tail)
            row.nodes.update((uuid, copy) for uuid in waiting.uuids())


# ---- what the user's side said ---------------------------------------------------------------------------------------


def take_user(row: Row, record: Record, findings: Findings) -> None:
    """A `user` record: prompt, summary, client's words, or tool results."""
    value = record.value
    content = mapping(value, "message").get("content")
    if not isinstance(content, _CONTENT):
        findings.add("user record without content", record.line, value, record.file)
        return pass_by(row, record)
    summary = value.get("isCompactSummary") is True
    if not content or (value.get("isVisibleInTranscriptOnly") is True and not summary):
        return pass_by(row, record)
    if isinstance(content, str) and record.time:
        first = row.nodes.get(row.said.setdefault((record.time, content), record.uuid))
        if first is not None and first.prev is _root_or_before(row, record):  # a copy under a new uuid
            row.nodes[record.uuid] = first
            return None
    meta = value.get("isMeta") is True
    messages = read_messages(
        "user",
        content,
        id=row.name(record.uuid),
        line=record.line,
        time=record.time,
        summary=summary,
        mark="meta" if meta else "",
    )
    if summary:
        return _take_summary(row, record, messages)
    said = [message for message in messages if not _take_result(row, record, message)]
    if said:
        _take_words(row, record, Unit(said), typed=not meta and len(said) == len(messages))
    return None


def _take_words(row: Row, record: Record, unit: Unit, *, typed: bool) -> None:
    if not typed or row.listed:
        _place(row, record, unit)
    elif record.parent is None and row.linked:
        row.place_prompt(unit, row.start)  # rewound to the very beginning
    elif record.parent in row.nodes:
        row.place_prompt(unit, before(row, record))
    else:
        _place(row, record, unit)
    _take_over(row, record, unit)


def _take_result(row: Row, record: Record, message: Message) -> bool:
    """Give a tool result to the answer that called. False for a message that is none."""
    result = message.result
    if result is None:
        return False
    call = row.tools.get(result.call_id)
    if call is not None and row.is_open(call):
        call.add_result(message)
        row.nodes[record.uuid] = call
    elif result.call_id in (call.results if call is not None else row.strays):
        row.nodes[record.uuid] = call or before(row, record)
    else:
        (call.results if call is not None else row.strays)[result.call_id] = message
        unit = Unit([message])
        row.place(unit, row.tail if call is not None else before(row, record))
        row.nodes[record.uuid] = unit
    return True


# ---- what the model said --------------------------------------------------------------------------------------------


def take_answer(row: Row, record: Record, findings: Findings) -> Sequence[ToolCall]:
    """An `assistant` record: one line of an answer. Returns the tool calls that are new with it."""
    value = record.value
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(content, _CONTENT):
        findings.add("assistant record without content", record.line, value, record.file)
        pass_by(row, record)
        return ()
    if value.get("isApiErrorMessage") is True:
        pass_by(row, record)
        return ()
    id_ = text(message, "id") or text(value, "requestId") or record.uuid
    call = row.calls.get(id_)
    if call is None:
        model = text(message, "model")
        name = f"{id_}~" if id_ in row.nodes else id_  # a record is called that
        call = row.calls[id_] = Call(name, record.line, record.time, model, real=model != "<synthetic>")
        call.report.add(message, value.get("version"))  # it tells what the call was sent
        _place(row, record, call)
    elif call.stretch is not None:
        return _take_late_line(row, record, call)
    else:
        call.report.add(message, value.get("version"))
    if call.report.absurd:
        findings.add(ABSURD, record.line, value, record.file)
    row.nodes[record.uuid] = call
    parts = _parts(record)
    if row.listed:  # the blocks of earlier lines are repeated
        parts = [part for part in parts if not (isinstance(part, ToolCall) and part.id in row.tools)]
    made = call.add_line(record.uuid, parts)
    for part in made:
        row.tools[part.id] = call
    return made


def _parts(record: Record) -> list[Part]:
    """The blocks of a line, as far as the model made them."""
    content = mapping(record.value, "message")["content"]
    parts: list[Part] = [Text(content)] if isinstance(content, str) else [read_part(block) for block in content]
    return [_as_called(part, record) if isinstance(part, ToolCall) else part for part in parts]


def _as_called(call: ToolCall, record: Record) -> ToolCall:
    """A plan is written to a file; for the user's eyes the client copies it into the call, and never sends that."""
    version, given = numbers(text(record.value, "version")), call.arguments
    if call.name != "ExitPlanMode" or not isinstance(given, dict) or () < version < _PLANS_IN_FILES:
        return call
    return ToolCall(call.id, call.name, {key: value for key, value in given.items() if key not in _COPIED})


_COPIED = frozenset({"plan", "planFilePath"})
_PLANS_IN_FILES = (2, 0, 51)
"""The version from which on the model no longer gives its plan along with the call."""


def _take_late_line(row: Row, record: Record, call: Call) -> Sequence[ToolCall]:
    """A line of an answer after the next one began: a message of its own, unless it is a copy."""
    parts = [part for part in _parts(record) if part not in call.parts]
    row.nodes[record.uuid] = call
    if parts:
        unit = Unit([Message(row.name(record.uuid), "assistant", tuple(parts), line=record.line, time=record.time)])
        row.place(unit, row.tail)
        row.nodes[record.uuid] = unit
    made = [part for part in parts if isinstance(part, ToolCall)]
    row.tools.update((part.id, call) for part in made)
    return made


# ---- what the client did --------------------------------------------------------------------------------------------


def take_attachment(row: Row, record: Record, findings: Findings) -> None:
    """An `attachment` record: a reminder, or a prompt typed while the agent worked."""
    messages = read_attachment(record, row.name(record.uuid))
    if messages is None:
        kind = text(mapping(record.value, "attachment"), "type")
        findings.add_kind(f"unknown attachment {kind[:40]!r}", record.line, record.value, record.file)
    if not messages:
        return pass_by(row, record)
    unit = Unit(messages)
    _place(row, record, unit)
    return _take_over(row, record, unit)


def take_system(row: Row, record: Record, findings: Findings) -> None:
    """A `system` record: boundaries count, everything else is for the user's eyes."""
    match record.value.get("subtype"):
        case "compact_boundary":
            uuids = preserved(record, row)
            if is_absurd(mapping(record.value, "compactMetadata")):
                findings.add(ABSURD, record.line, record.value, record.file)
            _cut(row, read_boundary(record))
            row.nodes[record.uuid] = row.tail
            row.keeping = partial(_restore, row, record, uuids, findings)
        case "microcompact_boundary":
            row.clear(*read_micro(record))
            pass_by(row, record)
        case _:
            pass_by(row, record)


def _cut(row: Row, compaction: Compaction) -> None:
    for unit in row.cut(compaction):
        row.waiting.setdefault(unit.waits, []).append(unit)


def _restore(row: Row, boundary: Record, uuids: list[str], findings: Findings) -> None:
    missing = keep(row, uuids)
    if missing:
        what = f"{missing} of {len(uuids)} records that the compaction kept are not in this file"
        findings.add(what, boundary.line, mapping(boundary.value, "compactMetadata"), boundary.file)


def _take_summary(row: Row, record: Record, messages: tuple[Message, ...]) -> None:
    """The summary opens the buffer behind a boundary; what the boundary keeps comes right after it."""
    if not row.awaits_summary():
        _cut(row, Compaction(0, "", line=record.line, time=record.time))
    unit, keeping = Unit(messages), row.keeping
    row.keeping = None
    row.place(unit, row.tail)
    row.summarised(messages[0])
    if keeping is not None:
        keeping()
    _take_over(row, record, unit)
