"""Read pi sessions: v1 is a sequence of records, v2 and v3 are a tree whose last record is the current position.

Every call is a request, also a call on an abandoned branch. Its buffer is the buffer of its branch.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from inspector.core.buffer import Stretch
from inspector.core.formats.growing import GrowingThread
from inspector.core.formats.pi.messages import (
    FAILED,
    PiSystemPrompt,
    branch_text,
    read_message,
    read_parts,
    read_usage,
    record_of,
    summary_text,
    system_units,
    with_content,
)
from inspector.core.formats.pi.tree import (
    MENDED_SINCE,
    ROOT,
    EntryNode,
    appended,
    kept,
    mended,
    mended_view,
    settle,
)
from inspector.core.formats.reading import (
    ProblemList,
    RecordPosition,
    note_shared_ids,
    with_reasoning,
)
from inspector.core.identity import SameMessages
from inspector.core.message import Message, Part, Text, ToolCall
from inspector.core.prefix import Prefix
from inspector.core.session import BEGINS_LATE, Compaction, Record, Session, Sign
from inspector.core.tokens.harnesses import u16
from inspector.core.untyped import text_at, text_of
from inspector.core.usage import MOST, Usage

NAME = "pi"
_SILENT = ("custom", "label", "session_info", "usage", "thinking_level_change")
"""Types of records that are not sent and do not change the buffer."""
_PLAIN = "message"


class PiReader:
    """A `Reader` of pi sessions. All lists only grow, because each record is complete."""

    def __init__(self) -> None:
        self._header: Mapping[str, Any] = {}
        """The `session` record; empty if the file has none."""
        self._version = 3
        self._lines: dict[int, EntryNode] = {}
        """Node of each record by line number, which v1 uses to refer to records."""
        self._nodes: dict[str, EntryNode] = {}
        """Node of each record by id; if records share an id, the latest."""
        self._begins_late = False
        """True if the file has no header and the parent of its first record is not in the file."""
        self._shared_ids = 0
        """Number of records that share the id of an earlier record."""
        self._sources: dict[str, Message] = {}
        self._records: dict[str, tuple[Record, ...]] = {}
        self._made: set[str] = set()
        """Ids of the tool results that pi adds for tool calls without a result."""
        self._unsent: set[str] = set()
        """Ids of the tool calls of failed answers."""
        self._leaf = ROOT
        self._thread = GrowingThread()
        """Messages, requests and compactions. Its buffer is not used, because `_leaf` holds the buffer."""
        self._problems = ProblemList()
        self._unknown: set[str] = set()
        self._signs: list[Sign] = []
        self._level = self._called_with = ""
        """The current thinking level, and the thinking level of the last call."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take one record. O(record), or O(buffer) for compactions and edits."""
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str):
            self._problems.note(line, "not a session record", value, file)
        elif kind == "session":
            if not self._header:
                version = value.get("version")
                self._header, self._version = value, version if type(version) is int else 1
                self._thread.model = text_at(value, "modelId")
        else:
            where = self._where(line, value)
            node = self._node(line, value)
            self._take(kind, value, where, node)
            self._leaf = self._nodes[where.id] = self._lines[line] = node
            if where.id != text_at(value, "id") and self._version >= 2:
                self._nodes[text_at(value, "id")] = node

    def _where(self, line: int, value: Mapping[str, Any]) -> RecordPosition:
        name = "" if self._version < 2 else text_at(value, "id")
        if name and name in self._nodes:
            self._shared_ids += 1
            name = f"{name}@{line}"
        return RecordPosition(name or f"L{line}", line, text_of(value.get("timestamp")))

    def _node(self, line: int, value: Mapping[str, Any]) -> EntryNode:
        """Return the record's node in the tree, which begins with the buffer of its parent."""
        parent = self._leaf
        if self._version >= 2 and "parentId" in value:
            name = value["parentId"]
            if name is None:
                parent = ROOT
            elif isinstance(name, str) and name in self._nodes:
                parent = self._nodes[name]
            elif not self._header and not self._lines:
                self._begins_late = True
            else:
                what = (
                    f"the parent {text_of(name)[:40]!r} is not in the file: the record before is taken as its "
                    "parent"
                )
                self._problems.note(line, what)
        return EntryNode(
            parent,
            parent.view,
            parent.system,
            depth=parent.depth + 1,
            pending=parent.pending,
            owed=parent.owed,
            loose=parent.loose,
        )

    def _take(
        self, kind: str, value: Mapping[str, Any], where: RecordPosition, node: EntryNode
    ) -> None:
        if kind == "message":
            self._take_message(value, where, node)
        elif kind == "compaction":
            self._take_compaction(value, where, node)
        elif kind == "custom_message":
            self._put_meta(read_parts(value.get("content")), where, node, Record(kind, where.id))
        elif kind == "branch_summary":
            summary = text_of(value.get("summary"))
            self._put_meta(
                (Text(branch_text(summary)),),
                where,
                node,
                Record(kind, where.id, counted=u16(summary)),
            )
        else:
            node.loose += (Record("state" if kind == "custom" else kind, where.id),)
            self._take_unsent(kind, value, where, node)

    def _take_unsent(
        self, kind: str, value: Mapping[str, Any], where: RecordPosition, node: EntryNode
    ) -> None:
        """Take a record that adds no message to the buffer."""
        if kind == "context_edit":
            self._take_edit(value, where, node)
        elif kind == "thinking_level_change":
            self._level = text_of(value.get("thinkingLevel"))
        elif kind == "model_change":
            self._thread.model = text_at(value, "modelId") or self._thread.model
        elif kind not in _SILENT and kind not in self._unknown:
            self._unknown.add(kind)
            self._problems.note(where.line, f"unknown record type {kind[:60]!r}", value)

    def _put_meta(
        self, parts: tuple[Part, ...], where: RecordPosition, node: EntryNode, record: Record
    ) -> None:
        self._mend(node)
        self._put(node, where.message("user", parts, "meta"), record)

    def _take_message(
        self, value: Mapping[str, Any], where: RecordPosition, node: EntryNode
    ) -> None:
        message = value.get("message")
        if not isinstance(message, dict):
            self._problems.note(where.line, "a message record without a message", value)
            return
        if message.get("role") == "system":
            node.system = node.system.changed(message)
            node.loose += (Record("system", where.id, counted=system_units(message)),)
            return
        # An incomplete response, which a later record holds completely.
        if value.get("checkpoint") is True:
            return
        read = read_message(message, where)
        if read.role != "tool":
            self._mend(node)
        if read.role == "assistant":
            read = self._call(message, read, node)
        elif self._level != self._called_with:
            if self._called_with:
                what = f"thinking level {self._called_with} became {self._level}"
                self._signs.append(Sign("settings", what, where.line))
            self._called_with = self._level
        kind, counted = record_of(message)
        if (sent := self._as_sent(message, read)) is not None:
            self._put(
                node,
                sent,
                Record(kind, read.id, message=None if sent is read else read, counted=counted),
                read,
            )
        else:
            unsent = None if message.get("excludeFromContext") is True else read
            node.loose += (Record(kind, read.id, message=unsent, counted=counted),)
            self._thread.note([read])

    def _as_sent(self, message: Mapping[str, Any], read: Message) -> Message | None:
        """Return the part of a message that is sent to the model again; None if nothing is sent.

        Since v3 failed answers are not sent. Before v3 their text was sent again, but not their tool calls, which had
        no results.
        """
        sent = read
        if read.role == "assistant" and message.get("stopReason") in FAILED:
            if self._version >= MENDED_SINCE:
                return None
            self._unsent.update(call.id for call in read.calls)
            parts = tuple(part for part in read.parts if not isinstance(part, ToolCall))
            sent = read if len(parts) == len(read.parts) else replace(read, parts=parts)
        if read.result is not None and read.result.call_id in self._unsent:
            return None
        return sent if sent.parts and message.get("excludeFromContext") is not True else None

    def _call(self, message: Mapping[str, Any], read: Message, node: EntryNode) -> Message:
        """Add the model call of an answer. Return the answer with its reasoning tokens.

        A failed answer without usage is no call: nothing was sent, or the provider refused the request.
        """
        usage = read_usage(message)
        finish = text_of(message.get("stopReason"))
        self._problems.note_absurd(message.get("usage"), read.line, message)
        thread = self._thread
        thread.model, thread.prompt = text_at(message, "model") or thread.model, node.system.prompt
        if not self._is_call(message, usage):
            return read
        thread.call(usage, thread.model, read.time, finish, read.line, settle(node))
        if usage is None or not usage.reasoning:
            return read
        return replace(read, parts=with_reasoning(read.parts, usage.reasoning))

    def _is_call(self, message: Mapping[str, Any], usage: Usage | None) -> bool:
        return usage is not None or message.get("stopReason") not in FAILED

    def _mend(self, node: EntryNode) -> None:
        """Add results for tool calls without a result, because another message follows the results."""
        if not node.owed or self._version < MENDED_SINCE:
            return
        before, node.owed = settle(node), frozenset()
        node.view = mended_view(before)
        self._list(node.view.tail(min(before.length, node.view.length)))

    def _list(self, messages: Iterable[Message]) -> None:
        """Add the tool results that pi made up to the list of all messages, each once for all branches."""
        for message in messages:
            if message.id not in self._made:
                self._made.add(message.id)
                self._thread.note([message])

    def _put(
        self, node: EntryNode, message: Message, record: Record, read: Message | None = None
    ) -> None:
        """Append a message to the buffer of a node. `read` is the whole message if only a part of it is sent again."""
        self._thread.note([read or message])
        if node.loose or record.kind != _PLAIN or record.message is not None:
            self._records[message.id], node.loose = (*node.loose, record), ()
        result = message.result
        if result is not None:
            node.owed -= {result.call_id}
        elif message.role == "assistant":
            node.owed = frozenset(call.id for call in message.calls)
        node.view, node.message = appended(settle(node), message), message
        self._sources[message.id] = message

    def _take_compaction(
        self, value: Mapping[str, Any], where: RecordPosition, node: EntryNode
    ) -> None:
        text = summary_text(text_of(value.get("summary")))
        summary = where.message("user", [Text(text)], summary=True)
        stays = self._retained(value, where, node)
        stays = mended(stays) if self._version >= MENDED_SINCE else stays
        copies = [message for message in stays if message.line == where.line]  # without an original
        self._thread.note([summary, *copies])
        self._list(message for message in stays if not message.line)
        if (usage := read_usage(value)) is not None:
            number = self._thread.compactions
            self._thread.aside(
                "compaction", usage, self._thread.model, where.line, where.time, number
            )
        before = value.get("tokensBefore")
        trigger = "extension" if value.get("fromHook") is True else ""
        tokens_before = before if type(before) is int and 0 < before <= MOST else None
        self._thread.compacted(
            Compaction(
                before_request=0,
                trigger=trigger,
                tokens_before=tokens_before,
                summary=summary,
                kept=len(stays),
                line=where.line,
                time=where.time,
            )
        )
        first = value.get("firstKeptEntryId")
        index = value.get("firstKeptEntryIndex")
        if not isinstance(first, str):
            first = f"L{index + 1}" if type(index) is int else ""
        record = Record("compaction", where.id, first_kept=first)
        self._records[where.id], node.loose = (*node.loose, record), ()
        node.view, node.pending = Stretch(own=(summary, *stays)).view(), False
        if isinstance(system := value.get("systemMessage"), dict):
            node.system = PiSystemPrompt().changed(system)

    def _retained(
        self, value: Mapping[str, Any], where: RecordPosition, node: EntryNode
    ) -> list[Message]:
        """Return the messages that stay unchanged: copied into the record, or from the first kept record on."""
        tail = value.get("retainedTail")
        if isinstance(tail, list):
            earlier = SameMessages(settle(node))
            copies = [
                read_message(message, RecordPosition(f"{where.id}.{n}", where.line, where.time))
                for n, message in enumerate(tail)
                if isinstance(message, dict) and message.get("role") != "system"
            ]
            return [earlier.take(copy) or copy for copy in copies if copy.parts]
        first = self._first_kept(value)
        return kept(node.parent, first) if first and node.parent else []

    def _first_kept(self, value: Mapping[str, Any]) -> EntryNode | None:
        """Return the first record that a compaction keeps; None if it names none."""
        index = value.get("firstKeptEntryIndex")
        name = value.get("firstKeptEntryId")
        if isinstance(name, str):
            return self._nodes.get(name)
        # Counted from 0, with the header.
        return self._lines.get(index + 1) if type(index) is int else None

    def _take_edit(self, value: Mapping[str, Any], where: RecordPosition, node: EntryNode) -> None:
        target = value.get("targetId")
        replacement = value.get("replacement")
        source = self._sources.get(target) if isinstance(target, str) else None
        if not isinstance(target, str) or target not in self._nodes:
            self._problems.note(where.line, "an edit of a record that is not in the file", value)
            return
        if source is not None:
            stands = (
                with_content(source, replacement.get("content"))
                if isinstance(replacement, dict)
                else None
            )
            node.edits, node.pending = {target: stands}, True
        self._thread.compacted(
            Compaction(
                before_request=0,
                trigger=text_of(value.get("reason")),
                kind="edit",
                cleared=(target,),
                line=where.line,
                time=where.time,
            )
        )

    def session(self) -> Session:
        """Return the session so far."""
        end, leaf = settle(self._leaf), self._leaf
        main = replace(
            self._thread.thread(),
            end=end,
            prompt=leaf.system.prompt,
            records=self._records,
            trailing=leaf.loose,
            begins_late=self._begins_late,
        )
        notes = (
            []
            if self._header
            else [BEGINS_LATE if self._begins_late else "The file has no session header."]
        )
        notes += note_shared_ids(self._shared_ids, "records")
        if origin := text_at(self._header, "parentSession") or text_at(
            self._header, "branchedFrom"
        ):
            notes.append(f"Branched from {origin}.")
        client = f"pi session v{self._version}" if self._header else "pi"
        return Session(
            format=NAME,
            threads=(main,),
            problems=Prefix(self._problems),
            client=client,
            id=text_at(self._header, "id"),
            notes=tuple(notes),
            side_calls=Prefix(self._thread.side_calls),
            signs=Prefix(self._signs),
        )
