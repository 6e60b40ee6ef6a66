"""Read GitHub Copilot CLI sessions: `events.jsonl`, one event per line with a `type` like `user.message` and `data`.

The main agent and each agent that it started have a thread each. No event records the tokens of a single call. When a
session ends, an event records the totals of all calls by model, zero if the provider reported none. Only if the session
has a single call are the totals the tokens of that call.

The system prompt is recorded before each message of the user and replaces the previous system prompt. An answer is one
call, whose buffer is the buffer at the beginning of the turn. Tool results are in the order in which the tools ended.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.core.buffer import Prompt, View
from inspector.core.formats.format import AgentFolder, Contents, Format
from inspector.core.formats.growing import GrowingThread
from inspector.core.formats.reading import ProblemList, RecordPosition
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.jsontext import dumps
from inspector.core.message import Mark, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.prefix import Prefix
from inspector.core.session import BEGINS_LATE, Compaction, Session, Sign
from inspector.core.untyped import count_of, object_of, objects_of, text_at
from inspector.core.usage import Usage, is_absurd
from inspector.core.words import plural

_SUMMARY = "Everything before this was compacted; what of it goes on, as Copilot CLI recorded it:"


NAME = "copilot-cli"
_EVENTS = "session.*|system.*|user.*|assistant.*|tool.*|hook.*|permission.*|subagent.*"
_ESTIMATED = (
    ("systemTokens", "system prompt"),
    ("conversationTokens", "messages"),
    ("toolDefinitionsTokens", "tools"),
)
_NO_END = "The file holds no input tokens: Copilot CLI writes them when a session ends, for all of its calls."
_PARTIAL = "A compaction is recorded; what Copilot CLI sent beside its summary is not in the file."


_SIGNS = FileSigns(
    FileSign({"type": "session.start", "data": "<object>", "parentId": "<any>"}, "any"),
    FileSign({"type": _EVENTS, "data": "<object>", "parentId": "<any>"}, "most", sure=0.9),
)


class CopilotTrack(GrowingThread):
    """The growing thread of the main agent, or of an agent that it started."""

    def __init__(self, name: str) -> None:
        super().__init__(name, parent="" if name == "main" else "main")
        self._begun: View | None = None
        """The buffer at the beginning of the open turn; None after its answer."""

    def take_prompt(self, data: Mapping[str, Any]) -> None:
        """Set the system prompt from now on. The tools of a request are not recorded."""
        if text := text_at(data, "content"):
            self.prompt = self.prompt if self.prompt.system == text else Prompt(text)

    def take_user(self, data: Mapping[str, Any], where: RecordPosition, mark: Mark = "") -> None:
        """Take a message of the user as it was sent, with the text that the client puts around the typed text."""
        text = text_at(data, "transformedContent") or text_at(data, "content")
        self._put("user", (Text(text),) if text else (), where, mark)

    def take_result(self, data: Mapping[str, Any], where: RecordPosition) -> None:
        """Take a tool result as sent to the model. Its `detailedContent` is only shown to the user."""
        failed = data.get("success") is False
        result = data.get("result") if data.get("result") is not None else data.get("error")
        content = (
            result.get("content", result.get("message")) if isinstance(result, dict) else result
        )
        self._put(
            "tool", (ToolResult(text_at(data, "toolCallId"), _as_text(content), failed),), where
        )

    def begin_turn(self) -> None:
        """Begin a turn: the model is called with the current buffer."""
        self._begun = self.view()

    def take_answer(self, data: Mapping[str, Any], where: RecordPosition) -> None:
        """Take an answer, which is one model call."""
        view, self._begun = self._begun, None
        self.call(None, text_at(data, "model") or self.model, where.time, "", where.line, view)
        parts: list[Part] = []
        signature = text_at(data, "reasoningOpaque") or text_at(data, "encryptedContent")
        if (thought := text_at(data, "reasoningText")) or signature:
            parts.append(Thinking(thought, signature))
        if text := text_at(data, "content"):
            parts.append(Text(text))
        for call in objects_of(data.get("toolRequests")):
            arguments = call.get("arguments")
            name = text_at(call, "name")
            parts.append(
                ToolCall(text_at(call, "toolCallId"), name, {} if arguments is None else arguments)
            )
        self._put("assistant", parts, where)

    def take_compaction(self, data: Mapping[str, Any], where: RecordPosition) -> None:
        """Replace all messages by the recorded summary."""
        text = text_at(data, "summaryContent")
        if data.get("success") is False or not text:
            return
        self._begun = None
        before = count_of(data.get("preCompactionTokens")) or None
        after = count_of(data.get("postCompactionTokens")) or None
        summary = where.message("user", [Text(f"{_SUMMARY}\n\n{text}")], "meta", summary=True)
        compaction = Compaction(
            before_request=0,
            trigger=text_at(data, "trigger"),
            tokens_before=before,
            tokens_after=after,
            summary=summary,
            line=where.line,
            time=where.time,
        )
        self.begin_again((), compaction)

    def _put(
        self, role: Role, parts: Sequence[Part], where: RecordPosition, mark: Mark = ""
    ) -> None:
        if parts:
            self.say([where.message(role, parts, mark)])


class CopilotReader:
    """A `Reader` of Copilot CLI sessions. All lists only grow."""

    def __init__(self) -> None:
        self._main = CopilotTrack("main")
        self._agents: dict[str, CopilotTrack] = {}
        self._start: Mapping[str, Any] = {}
        self._end: Mapping[str, Any] = {}
        self._ids: set[str] = set()
        self._problems = ProblemList()
        self._signs: list[Sign] = []
        self._silent = 0
        """Number of truncations. The events do not record which messages were removed."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take one event. Malformed events become problems and never raise."""
        kind, data = (
            (value.get("type"), value.get("data")) if isinstance(value, dict) else (None, None)
        )
        if not isinstance(kind, str) or not isinstance(data, dict):
            self._problems.note(line, "not an event of a session", value, file)
            return
        track = self._track(text_at(value, "agentId") or text_at(data, "parentToolCallId"), data)
        where = self._where(line, value)
        if kind == "subagent.started":
            self._begin_agent(value, data)
        elif kind == "session.truncation":
            self._silent += 1
        elif kind.startswith("session.") and kind != "session.compaction_complete":
            self._take_session(kind, data, line)
        else:
            _take_event(track, kind, data, where)

    def _take_session(self, kind: str, data: Mapping[str, Any], line: int) -> None:
        if kind == "session.start":
            self._start = self._start or data
            self._main.model = text_at(data, "selectedModel") or self._main.model
        elif kind == "session.resume":
            self._signs.append(Sign("restart", "the session was resumed", line))
        elif kind == "session.model_change":
            former, self._main.model = (
                self._main.model,
                text_at(data, "newModel") or self._main.model,
            )
            if former and former != self._main.model:
                self._signs.append(
                    Sign("settings", f"model {former} became {self._main.model}", line)
                )
        elif kind == "session.shutdown":
            self._take_end(data, line)

    def _take_end(self, data: Mapping[str, Any], line: int) -> None:
        self._end, totals = data, _totals(data)
        self._problems.note_absurd([usage for _, _, usage in totals], line, data)
        call_count = sum(calls for _, calls, _ in totals)
        is_single = call_count == 1 and sum(track.calls for track in self._tracks()) == 1
        if is_single and self._main.calls:
            usages = (_usage(counts) for _, calls, counts in totals if calls)
            usage = next((usage for usage in usages if usage is not None), None)
            if usage is not None:
                self._main.report(usage)

    def _tracks(self) -> list[CopilotTrack]:
        return [self._main, *self._agents.values()]

    def _where(self, line: int, value: Mapping[str, Any]) -> RecordPosition:
        name = text_at(value, "id")
        name = name if name and name not in self._ids else f"{name}@{line}"
        self._ids.add(name)
        return RecordPosition(name, line, text_at(value, "timestamp"))

    def _track(self, agent: str, data: Mapping[str, Any]) -> CopilotTrack:
        if not agent:
            return self._main
        track = self._agents.get(agent)
        if track is None:
            track = self._agents[agent] = CopilotTrack(agent)
            track.parent_call = text_at(data, "parentToolCallId")
        return track

    def _begin_agent(self, value: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        call = text_at(data, "toolCallId")
        track = self._track(text_at(value, "agentId") or call, data)
        if track is not self._main:
            track.title = text_at(data, "agentDisplayName") or text_at(data, "agentName")
            track.parent_call = call or track.parent_call

    def session(self) -> Session:
        """Return the session so far. O(threads)."""
        agents = [track.thread() for track in self._agents.values() if track.calls]
        main = replace(self._main.thread(), begins_late=not self._start)
        version = text_at(self._start, "copilotVersion")
        return Session(
            format=NAME,
            threads=(main, *agents),
            problems=Prefix(self._problems),
            client=f"GitHub Copilot CLI {version}".rstrip(),
            id=text_at(self._start, "sessionId"),
            notes=tuple(self._notes()),
            signs=Prefix(self._signs),
        )

    def _notes(self) -> list[str]:
        notes = [] if self._start else [BEGINS_LATE]
        if not self._end:
            notes.append(_NO_END)
        notes += [
            _total_words(model, calls, _usage(counts))
            for model, calls, counts in _totals(self._end)
        ]
        if whole := count_of(self._end.get("currentTokens")):
            parts = [f"{what} {count_of(self._end.get(key)):,}" for key, what in _ESTIMATED]
            notes.append(
                f"At its end Copilot CLI estimated a context of {whole:,} tokens: {', '.join(parts)}."
            )
        if any(track.compactions for track in self._tracks()):
            notes.append(_PARTIAL)
        if self._silent:
            what = (
                f"Copilot CLI cut off messages {self._silent:,} times; which ones is not recorded"
            )
            notes.append(f"{what}: from there on buffers hold more than was sent.")
        return notes


def _totals(end: Mapping[str, Any]) -> list[tuple[str, int, Any]]:
    """Return for each model its name, the number of its calls in the session, and their total usage."""
    totals = list[tuple[str, int, Any]]()
    for model, about in object_of(end, "modelMetrics").items():
        calls = count_of(object_of(about, "requests").get("count"))
        totals.append((str(model), calls, object_of(about, "usage")))
    return totals


def _usage(counts: Any) -> Usage | None:
    """Return a usage; None if `inputTokens` is zero, which means unknown.

    `inputTokens` includes the tokens read from the cache and written to it.
    """
    if not isinstance(counts, dict) or is_absurd(counts):
        return None
    names = (
        "inputTokens",
        "outputTokens",
        "cacheReadTokens",
        "cacheWriteTokens",
        "reasoningTokens",
    )
    prompt, output, read, write, reasoning = (count_of(counts.get(name)) for name in names)
    if not prompt:
        return None
    read = min(read, prompt)
    write = min(write, prompt - read)
    return Usage(prompt - read - write, read, write, output, reasoning=min(reasoning, output))


def _total_words(model: str, calls: int, usage: Usage | None) -> str:
    lead = f"{model}: {plural(calls, 'call')}"
    if usage is None:
        return f"{lead}; the tokens are unknown (the file says 0)."
    cached = f", {usage.cache_read:,} of them from the cache" if usage.cache_read else ""
    return (
        f"{lead}, {usage.prompt:,} tokens in{cached}, {usage.output:,} out (totals of the session)."
    )


def _as_text(content: Any) -> str:
    if content is None:
        return ""
    return content if isinstance(content, str) else dumps(content)


def _take_event(
    track: CopilotTrack, kind: str, data: Mapping[str, Any], where: RecordPosition
) -> None:
    match kind:
        case "system.message":
            track.take_prompt(data)
        case "user.message":
            track.take_user(data, where)
        case "system.notification":
            track.take_user(data, where, "meta")
        case "assistant.turn_start":
            track.begin_turn()
        case "assistant.message":
            track.take_answer(data, where)
        case "tool.execution_complete":
            track.take_result(data, where)
        case "session.compaction_complete":
            track.take_compaction(data, where)


FORMAT = Format(
    NAME,
    title="GitHub Copilot CLI session",
    sniff=_SIGNS,
    start=CopilotReader,
    grows=True,
    folders=(AgentFolder("session-state/*/events.jsonl", ".copilot", "COPILOT_HOME"),),
    contents=Contents(
        tokens="only of a session with one call; else totals of the session",
        system="yes",
        more="`events.jsonl`",
    ),
)
