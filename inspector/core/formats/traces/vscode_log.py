"""Read VS Code's debug log of its agent: each line is a span, each file is a session.

Files beside the log hold system prompts, tools and the context windows of models. The line of a call names its prompt
file and its tools file. A parent span that has no line (a turn of the main agent) belongs to the session of its file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from inspector.core.formats.format import Head
from inspector.core.formats.signs import FileSign, FileSigns, fits_pattern
from inspector.core.formats.traces.reader import TraceReader
from inspector.core.formats.traces.span import Span, completed, mapping, read_count, unpack_json
from inspector.core.session import Session
from inspector.core.untyped import objects_of, text_at, text_of

NAME = "vscode-debug-log"
MAIN = "main.jsonl"
FILES = f"*/User/workspaceStorage/*/GitHub.copilot-chat/debug-logs/*/{MAIN}"
"""Pattern of the logs' paths in the folder of an editor's settings."""
_TEXTS = ("system_prompt_*.json", "tools_*.json", "models.json")
PARTS = (
    *_TEXTS,
    "runSubagent-*.jsonl",
    "title-*.jsonl",
    "categorization-*.jsonl",
    "summarize-*.jsonl",
)
"""Patterns of the names of files beside a session's log that belong to it."""
_LINE = {
    "ts": "<number>",
    "dur": "<number>",
    "sid": "<text>",
    "type": "<text>",
    "spanId": "<text>",
    "attrs": "<object>",
}
SIGNS = FileSigns(FileSign(_LINE, "most"))
_MILLISECOND = 1_000_000
_ANSWER = "agent-msg-"
"""Prefix of an answer's id. The id of the call follows."""


def companions(path: PurePath) -> Sequence[str]:
    """Return the name patterns of files to read with a log.

    These are prompts, tools and the list of models and, for the main log, the logs of the sessions that it started.
    """
    return ("*.jsonl", *_TEXTS) if path.name == MAIN else _TEXTS


def is_companion(head: Head, session: Session) -> bool:
    """Does the file belong to the log? Only its form is checked, because each session has a separate folder."""
    del session
    is_text = fits_pattern(head.document, {"content": "<text>"})
    return is_text or any(map(_window_of, objects_of(head.document))) or SIGNS(head) > 0


class DebugLogReader(TraceReader):
    """A `Reader` of a session's log with the logs of the sessions that it started."""

    def __init__(self) -> None:
        super().__init__(NAME, lambda value, line: iter(()))
        self._roots: dict[str, Span] = {}
        """The span made for the agent of each session, by file."""
        self._contents: dict[str, Any] = {}
        """The contents of the prompt files and tools files, by file name."""
        self._named: dict[str, tuple[str, str]] = {}
        """Names of the prompt file and the tools file of each call, by span id."""
        self._windows: dict[str, int] = {}
        """Context window in tokens, by model."""
        self._started: dict[str, str] = {}
        """Id of the session that a tool started, by span id of the tool; it serves as the id of the tool call."""
        self._version = self._parent = ""

    def _take(self, line: int, value: Any, file: str) -> None:
        if file.endswith(".json"):
            self._read_file(file, value)
        elif not fits_pattern(value, {"type": "<text>", "attrs": "<object>"}):
            self._problems.note(line, "not a line of a debug log", value, file)
        else:
            self._read_line(line, value, file)

    def _read_file(self, file: str, value: Any) -> None:
        if isinstance(value, dict):
            self._contents[PurePath(file).name] = unpack_json(value.get("content"))
        for model in objects_of(value):
            if (window := _window_of(model)) is not None:
                self._windows[text_at(model, "id")] = window
        self._spans = {span.id: self._completed(span) for span in self._spans.values()}

    def _read_line(self, line: int, value: Mapping[str, Any], file: str) -> None:
        attrs = value["attrs"]
        name = text_at(value, "spanId")
        kind = value["type"]
        if kind == "session_start":
            self._begin(attrs, file)
        elif kind == "child_session_ref":
            self._place_child(attrs, text_at(value, "parentSpanId"), file)
        elif kind == "agent_response":
            self._answer(name.removeprefix(_ANSWER), unpack_json(attrs.get("response")))
        elif kind in ("llm_request", "tool_call", "subagent") and name:
            self._read_span(line, value, file)

    def _read_span(self, line: int, value: Mapping[str, Any], file: str) -> None:
        attrs = value["attrs"]
        span = _span_of(value, attrs, line)
        root = self._root(file).id
        span.parent = span.parent or root
        self._named[span.id] = text_at(attrs, "systemPromptFile"), text_at(attrs, "toolsFile")
        self._add(self._completed(span))
        if span.parent not in self._spans:
            self._spans[span.parent] = Span(span.parent, root)

    def _begin(self, attrs: Mapping[str, Any], file: str) -> None:
        """Read the start of a session: the version of the program, the parent session, the label."""
        self._version = self._version or text_at(attrs, "copilotVersion")
        if not file:
            self._parent = text_at(attrs, "parentSessionId")
        root = self._root(file)
        self._put_root(file, replace(root, agent=root.agent or text_at(attrs, "label")))

    def _place_child(self, attrs: Mapping[str, Any], tool: str, file: str) -> None:
        """Read the start of a child session. Its parent is the span of the tool, if named, else the file's session."""
        child = text_at(attrs, "childLogFile")
        if not child or child == file:
            return
        if tool:
            self._started[tool] = text_at(attrs, "childSessionId")
        if tool in self._spans:
            self._spans[tool] = self._completed(self._spans[tool])
        root = replace(
            self._root(child),
            parent=tool or self._root(file).id,
            agent=text_at(attrs, "label"),
        )
        self._put_root(child, root)

    def _root(self, file: str) -> Span:
        if file not in self._roots:
            name = file or MAIN
            self._put_root(file, Span(f"the session of {name}", kind="agent", conversation=name))
        return self._roots[file]

    def _put_root(self, file: str, root: Span) -> None:
        self._roots[file] = self._spans[root.id] = root

    def _answer(self, call: str, response: Any) -> None:
        """Set the output of a call. Ignore an answer that was cut off, and the answer to a call without input."""
        span = self._spans.get(call)
        if span is not None and isinstance(response, list) and span.input is not None:
            self._spans[call] = replace(span, output=response)

    def _completed(self, span: Span) -> Span:
        if span.kind == "tool":
            return completed(span, {"tool_call": self._started.get(span.id)})
        if span.kind != "call":
            return span
        system_file, tools_file = self._named.get(span.id, ("", ""))
        tools = self._contents.get(tools_file)
        more = {
            "system": self._contents.get(system_file),
            "tools": tools if isinstance(tools, list) else None,
            "window": self._windows.get(span.model),
        }
        return completed(span, more)

    def _build(self) -> Session:
        session = super()._build()
        notes = session.notes
        if self._parent:
            notes = (*notes, "This is the log of a sub-agent.")
        client = f"VS Code Copilot Chat {self._version}".rstrip()
        return replace(session, client=client, notes=notes)


def _window_of(model: Any) -> int | None:
    """Return the context window of a model in tokens, from VS Code's list of models; None if it is not listed."""
    capabilities = mapping(mapping(model).get("capabilities"))
    limits = mapping(capabilities.get("limits"))
    longest = read_count(limits.get("max_prompt_tokens"))
    return longest or read_count(limits.get("max_context_window_tokens"))


def _span_of(value: Mapping[str, Any], attrs: Mapping[str, Any], line: int) -> Span:
    span = Span(text_at(value, "spanId"), text_at(value, "parentSpanId"))
    span.name, span.line = text_at(value, "name"), line
    start = read_count(value.get("ts"))
    lasted = read_count(value.get("dur")) or 0
    if start is not None:
        span.place(line, start * _MILLISECOND, (start + lasted) * _MILLISECOND)
    if value["type"] == "tool_call":
        span.kind = "tool"
        span.input, span.output = attrs.get("args"), attrs.get("result")
    elif value["type"] == "subagent":
        span.kind, span.agent = "agent", text_at(attrs, "agentName")
    else:
        _describe_call(span, attrs)
        span.finished = (
            span.usage is not None or span.input is not None or value.get("status") == "ok"
        )
    return span


def _describe_call(span: Span, attrs: Mapping[str, Any]) -> None:
    span.kind, span.model = "call", text_at(attrs, "model")
    if (first := read_count(attrs.get("ttft"))) is not None:
        span.first = span.start + first * _MILLISECOND
    sent = unpack_json(attrs.get("inputMessages"))
    span.input = sent if isinstance(sent, list) else None
    span.finish = text_of(attrs.get("finishReason"))
    span.report(attrs.get("inputTokens"), attrs.get("outputTokens"), attrs.get("cachedTokens"))
