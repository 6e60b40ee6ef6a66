"""Read the records of one rollout file and feed them to `ModelCalls` in order.

`response_item` records hold the buffer. `event_msg` records repeat it for the screen and add counts, turns and aborts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.dialects.openai_responses import (
    is_compaction,
    read_item_parts,
    read_items,
    read_responses_usage,
)
from inspector.core.formats.codex.calls import (
    AGENT_MESSAGE,
    NEVER_SENT,
    ModelCalls,
    is_compaction_output,
    mark_of,
    summary_kind,
)
from inspector.core.formats.reading import ProblemList
from inspector.core.identity import SameMessages
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Part, Text, ToolCall, ToolResult
from inspector.core.session import Compaction, Sign
from inspector.core.untyped import object_of, text_of
from inspector.core.usage import ABSURD, MOST, is_absurd


@dataclass(frozen=True, slots=True)
class SessionMeta:
    """The fields of a `session_meta` record that the reader uses."""

    id: str
    instructions: str | None
    version: str = ""
    parent: str = ""
    """Id of the thread that started this thread as a sub-agent; empty if there is none."""
    title: str = ""
    copied_before: int | None = None
    """Records with a smaller ordinal are copies of the parent's records; None if not recorded."""
    forked_at: str = ""
    """Time at which the thread was forked: earlier records are copies. Empty if it is no fork."""

    def inherits(self, ordinal: Any, time: str) -> bool:
        """Was this record copied from the parent thread or from the thread that was forked?"""
        if self.copied_before is not None and type(ordinal) is int:
            return ordinal < self.copied_before
        return bool(self.forked_at and time) and time < self.forked_at


def read_meta(payload: Mapping[str, Any]) -> SessionMeta:
    """Read the payload of a `session_meta` record."""
    text = object_of(payload, "base_instructions").get("text")
    forked = bool(text_of(payload.get("forked_from_id")))
    parent, title = subagent_origin(payload)
    instructions = text if isinstance(text, str) else None
    forked_at = text_of(payload.get("timestamp")) if forked else ""
    return SessionMeta(
        id=text_of(payload.get("id")),
        instructions=instructions,
        version=text_of(payload.get("cli_version")),
        parent=parent,
        title=title,
        copied_before=_copied_before(payload),
        forked_at=forked_at,
    )


def as_record(value: Any) -> Any:
    """Return a line as a record, adding the envelope that versions before 0.30 did not write."""
    if not isinstance(value, dict) or "payload" in value:
        return value
    if (head := as_head(value)) is not None:
        return head
    if value.get("type") in _BARE:
        return {"type": "response_item", "payload": value}
    return {"type": "world_state", "payload": value} if "record_type" in value else value


def as_head(value: Any) -> Mapping[str, Any] | None:
    """Return the first line of a rollout before 0.30 as a `session_meta` record; None for any other value."""
    is_head = (
        isinstance(value, dict)
        and "type" not in value
        and {"id", "timestamp", "instructions"} <= value.keys()
    )
    return (
        {"type": "session_meta", "timestamp": value["timestamp"], "payload": value}
        if is_head
        else None
    )


_BARE = ("message", "reasoning", "function_call", "function_call_output", "local_shell_call")


def subagent_origin(payload: Mapping[str, Any]) -> tuple[str, str]:
    """Return the parent thread's id and the title of a sub-agent; ("", title) if no parent is named.

    A thread that the user started gives ("", "").
    """
    started: Any = object_of(payload, "source").get("subagent")
    spawn: Mapping[str, Any] = {}
    if isinstance(started, Mapping):
        spawn = next((value for value in started.values() if isinstance(value, Mapping)), {})
    parent = text_of(payload.get("parent_thread_id")) or text_of(spawn.get("parent_thread_id"))
    if started is None and not parent:
        return "", ""
    names = [text_of(payload.get("agent_nickname"))]
    names += [text_of(spawn.get(key)) for key in ("agent_nickname", "agent_role", "agent_path")]
    return parent, next(filter(None, [*names, text_of(started)]), "sub-agent")


def _copied_before(payload: Mapping[str, Any]) -> int | None:
    own = payload.get("subagent_history_start_ordinal")
    copied = object_of(payload, "history_base").get("end_ordinal_exclusive")
    return next((value for value in (own, copied) if type(value) is int), None)


@dataclass(frozen=True, slots=True)
class ReplacedHistory:
    """The buffer after a compaction. Messages that stay unchanged are the same objects as in the old buffer."""

    messages: tuple[Message, ...]
    summary: Message | None
    kept: int


def replaced(
    payload: Mapping[str, Any], before: Sequence[Message], prefix: str, line: int, time: str
) -> ReplacedHistory:
    """Return the buffer after a `compacted` record. O(messages of the buffer `before` + messages of the new one)."""
    history = payload.get("replacement_history")
    summary_words = text_of(payload.get("message"))
    if not isinstance(history, list):
        return _rebuilt(summary_words, before, prefix, line, time)
    new = _read(history, prefix, line, time)
    roles = {message.role for message in new}
    earlier = SameMessages(message for message in before if message.role in roles)
    messages, kept_count, summary = [], 0, None
    for message in new:
        same = None if message.summary else earlier.take(message)
        if same is not None:
            message = same
            kept_count += 1
        elif message.summary or _holds(message, summary_words):
            summary = message = replace(message, summary=True, mark="")
        messages.append(message)
    return ReplacedHistory(tuple(messages), summary, kept_count)


def _read(history: Sequence[Any], prefix: str, line: int, time: str) -> Sequence[Message]:
    """Return the messages of `read_items`, with marks and summary flags from Codex's own fields."""
    messages = []
    by_id = {f"{prefix}{n}": item for n, item in enumerate(history)}
    for message in read_items(history, prefix=prefix, line=line, time=time):
        item = by_id[message.id]
        mark = mark_of(item, message.role, message.parts)
        summary = message.summary or summary_kind(item)
        messages.append(
            replace(message, mark=mark, summary=summary) if mark or summary else message
        )
    return messages


def _holds(message: Message, words: str) -> bool:
    return bool(words) and message.role == "user" and words in message.text


def _rebuilt(
    words: str, before: Sequence[Message], prefix: str, line: int, time: str
) -> ReplacedHistory:
    """Rebuild the buffer for early versions, which record the summary alone.

    Instructions and user messages stay; all other messages are removed. Codex then also cut the user's messages to
    20,000 tokens in total, which the file does not record.
    """
    staying = [
        message for message in before if not message.summary and message.role in ("system", "user")
    ]
    summary = Message(f"{prefix}0", "user", (Text(words),), summary=True, line=line, time=time)
    return ReplacedHistory((*staying, summary), summary, len(staying))


_SENT_ALONG = (
    "approval_policy",
    "collaboration_mode",
    "current_date",
    "effort",
    "personality",
    "sandbox_policy",
)
"""Settings of a turn that are sent with the call."""
_SILENT = (
    "world_state",
    "inter_agent_communication_metadata",
    "retained_context",
    "realtime_item",
    "security_risk_score",
)
"""Types of records that are not sent and hold nothing about a call."""


@dataclass(slots=True)
class Rollout:
    """The state of one file, from the records read so far."""

    file: str
    problems: ProblemList
    meta: SessionMeta | None = None
    headless: bool = False
    calls: ModelCalls = field(default_factory=ModelCalls)
    spawned: list[tuple[str, str]] = field(default_factory=list)
    """(call id, output) of the calls that may have started sub-agents."""
    signs: list[Sign] = field(default_factory=list)
    _context: dict[str, str] = field(default_factory=dict)
    """The settings in `_SENT_ALONG` as last recorded, as JSON."""
    _spawning: set[str] = field(default_factory=set)
    _total: tuple[int, ...] = ()
    _to_repeat: int = 0
    """Number of `token_usage_record` records in this turn that no `token_count` has repeated yet."""
    _copied: bool = False
    _side_call: bool = False
    _unknown: set[str] = field(default_factory=set)
    _prefix: str = ""
    """Prefix of the file's message ids; the line number follows it."""

    def __post_init__(self) -> None:
        self._prefix = f"{self.file}:" if self.file else "L"

    def take(self, line: int, value: Any) -> None:
        """Take the record on `line`. O(record), or O(buffer) for a compaction."""
        value = as_record(value)
        payload = value.get("payload") if isinstance(value, dict) else None
        if not isinstance(payload, dict):
            self._problem(line, "not a rollout record", value)
            return
        kind = value.get("type")
        time = text_of(value.get("timestamp"))
        if self.meta is None:
            self.headless = self.headless or kind != "session_meta"
        elif self._copied:
            self.calls.setting.inherited = self.meta.inherits(value.get("ordinal"), time)
        take = _RECORDS.get(kind) if isinstance(kind, str) else None
        if take is not None:
            take(self, line, time, value, payload)
        elif kind not in _SILENT:
            self._unknown_kind(line, f"unknown record type {text_of(kind)[:60]!r}", value)

    def _session_meta(
        self, line: int, time: str, record: Mapping[str, Any], payload: Mapping[str, Any]
    ) -> None:
        """Take the thread's metadata. A repeat means a resumed session; metadata of copied threads is ignored."""
        if self.meta is None and not self.headless:
            self.meta = read_meta(payload)
            self.calls.setting.prompt = Prompt(self.meta.instructions)
            self._copied = self.meta.copied_before is not None or bool(self.meta.forked_at)
        elif self.meta is not None and payload.get("id") == self.meta.id:
            self.signs.append(Sign("restart", "the session was opened again", line))

    def _turn_context(
        self, line: int, time: str, record: Mapping[str, Any], payload: Mapping[str, Any]
    ) -> None:
        self.calls.turn()
        self._to_repeat = 0
        now = {name: dumps(payload[name]) for name in _SENT_ALONG if name in payload}
        for name, value in now.items():
            if name in self._context and self._context[name] != value:
                self.signs.append(Sign("settings", f"{name.replace('_', ' ')} changed", line))
        self._context |= now
        self.calls.setting.model = text_of(payload.get("model")) or self.calls.setting.model

    def _response_item(
        self, line: int, time: str, record: Mapping[str, Any], item: Mapping[str, Any]
    ) -> None:
        if item.get("type") in NEVER_SENT:
            return
        role, parts = read_item_parts(item)
        name = f"{self._prefix}{line}"
        if "metadata" in record and is_compaction_output(record):
            self._side_call = True
            self.calls.aside(Message(name, role, parts, line=line, time=time))
        elif role == "tool":
            if self._spawning:
                self._watch_result(parts)
            self.calls.result(Message(name, role, parts, line=line, time=time))
        elif role == "assistant" and not is_compaction(parts):
            self._watch_calls(parts)
            self.calls.model(parts, name, line, time)
        else:
            summary = is_compaction(parts)
            mark = mark_of(item, role, parts)
            if role == "user" and (not mark or item.get("type") == AGENT_MESSAGE):
                self.calls.abort_calls()
            self.calls.client(
                Message(name, role, parts, summary=summary, mark=mark, line=line, time=time)
            )

    def _agent_message(
        self, line: int, time: str, record: Mapping[str, Any], payload: Mapping[str, Any]
    ) -> None:
        """Take a message of another agent, as older versions record it."""
        item = {
            "type": AGENT_MESSAGE,
            "content": [{"type": "input_text", "text": text_of(payload.get("content"))}],
        }
        self._response_item(line, time, record, item)

    def _watch_calls(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if type(part) is ToolCall and "spawn" in part.name:
                self._spawning.add(part.id)

    def _watch_result(self, parts: Sequence[Part]) -> None:
        result = parts[0]
        if isinstance(result, ToolResult) and result.call_id in self._spawning:
            self.spawned.append((result.call_id, result.content))

    def _compacted(
        self, line: int, time: str, record: Mapping[str, Any], payload: Mapping[str, Any]
    ) -> None:
        self.calls.settle_before_compaction()
        before = self.calls.buffer().messages()
        after = replaced(payload, before, prefix=f"{self._prefix}{line}.", line=line, time=time)
        trigger = text_of(payload.get("trigger")) or text_of(payload.get("reason"))
        self.calls.compacted(
            after.messages,
            Compaction(
                before_request=0,
                trigger=trigger,
                summary=after.summary,
                kept=after.kept,
                line=line,
                time=time,
            ),
        )

    def _token_usage_record(
        self, line: int, time: str, record: Mapping[str, Any], payload: Mapping[str, Any]
    ) -> None:
        """Take the usage that newer versions write after each response; a `token_count` record then repeats it."""
        self._to_repeat += 1
        self._count(payload.get("usage"), line, time)

    def _event(
        self, line: int, time: str, record: Mapping[str, Any], payload: Mapping[str, Any]
    ) -> None:
        match payload.get("type"):
            case "token_count":
                info = payload.get("info")
                if isinstance(info, dict):
                    self._token_count(info, line, time)
            case "task_started" | "turn_started":
                self.calls.turn()
                self._window(payload)
            case "turn_aborted":
                self.calls.turn("aborted")
            case "task_complete" | "turn_complete":
                self.calls.turn()

    def _token_count(self, info: Mapping[str, Any], line: int, time: str) -> None:
        """Take a count only if the running total has changed, because Codex often repeats a count."""
        self._window(info)
        last = info.get("last_token_usage")
        total = info.get("total_token_usage")
        if not isinstance(last, dict):
            return
        if is_absurd(info):
            self._problem(line, ABSURD, info)
            return
        if not last.get("input_tokens") and not last.get("output_tokens"):
            estimated = last.get("total_tokens")
            if type(estimated) is int and estimated > 0:
                self.calls.size_after_compaction(estimated)
            return
        running = _figures(total if isinstance(total, dict) else last)
        changed, self._total = running != self._total, running
        if changed and self._to_repeat:
            self._to_repeat -= 1
        elif changed:  # an older version, without `token_usage_record`, may have resumed the thread
            self._count(last, line, time)

    def _count(self, usage: Any, line: int, time: str) -> None:
        reported = read_responses_usage(usage)
        if reported is None:
            self._problem(line, ABSURD if is_absurd(usage) else "a count without tokens", usage)
        elif self._side_call:
            self._side_call = False
            if not self.calls.setting.inherited:
                self.calls.summary_call(reported, line, time)
        else:
            self.calls.count(reported, line, time)

    def _window(self, holder: Mapping[str, Any]) -> None:
        window = holder.get("model_context_window")
        if type(window) is int and 0 < window <= MOST:
            self.calls.setting.window = window

    def _unknown_kind(self, line: int, what: str, value: Any) -> None:
        if what not in self._unknown:
            self._unknown.add(what)
            self._problem(line, what, value)

    def _problem(self, line: int, what: str, value: Any) -> None:
        self.problems.note(line, what, value, self.file)


def _figures(usage: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple([figure for figure in usage.values() if type(figure) is int])


_Take = Callable[[Rollout, int, str, Mapping[str, Any], Mapping[str, Any]], None]
_RECORDS: Mapping[str, _Take] = {
    "session_meta": Rollout._session_meta,
    "turn_context": Rollout._turn_context,
    "response_item": Rollout._response_item,
    "compacted": Rollout._compacted,
    "token_usage_record": Rollout._token_usage_record,
    "event_msg": Rollout._event,
    "inter_agent_communication": Rollout._agent_message,
}
