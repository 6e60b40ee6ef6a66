"""Read VS Code's chats with Copilot: exported, or as VS Code stores them, as a document or a log of changes.

A round is one call. Its buffer is everything before it: the context that opens the chat, the rendered prompts, and
earlier rounds with their results. Where a summary is placed, and which messages it replaces, follows the client's code.
Files hold neither the system prompt, nor the tools, nor the tokens of a call.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.format import AgentFolder, BuiltReader, Contents, Format
from inspector.core.formats.growing import GrowingThread
from inspector.core.formats.reading import iso_time
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.message import Message, Text
from inspector.core.session import Session
from inspector.core.untyped import list_of, object_of, objects_of, text_at, text_of

NAME = "vscode-chat"
_SET, _PUSH, _DELETE = 1, 2, 3
_DEEPEST = 32
"""Highest number of keys in a path into a chat."""


def _is_chat(value: Any) -> bool:
    names = ("responderUsername", "requesterUsername", "initialLocation")
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("requests"), list)
        and any(name in value for name in names)
    )


class VsCodeChatReader(BuiltReader):
    """A `Reader` of a document, or of the changes that build a document."""

    def __init__(self) -> None:
        super().__init__()
        self._chat: Any = None

    def _take(self, line: int, value: Any, file: str) -> None:
        try:
            self._chat = value if _is_chat(value) else _after(self._chat, value)
        except (TypeError, ValueError, LookupError):
            self._problems.note(line, "neither a chat nor a change of one", value, file)

    def _build(self) -> Session:
        thread = GrowingThread()
        turns = _objects(self._chat, "requests")
        typed = [text_of(object_of(turn, "message").get("text")) for turn in turns]
        thread.title = (
            text_at(self._chat, "customTitle") or next(iter(typed), "").partition("\n")[0][:120]
        )
        reader = _Turns(thread, turns)
        for n, turn in enumerate(turns):
            reader.take(n, turn, typed[n])
        notes = []
        if reader.unrendered:
            notes.append(
                f"For {reader.unrendered} prompts the file records what was typed, not what was sent."
            )
        version = next(
            (text_of(object_of(turn, "agent").get("extensionVersion")) for turn in turns), ""
        )
        ids = [text_of(_metadata(turn).get("sessionId")) for turn in turns]
        client = f"GitHub Copilot Chat {version}".rstrip()
        name = text_at(self._chat, "sessionId") or next(filter(None, ids), "")
        return Session(
            NAME,
            threads=(thread.thread(),),
            problems=tuple(self._problems),
            client=client,
            id=name,
            notes=tuple(notes),
        )


class _Turns:
    """Appends turns to a thread."""

    def __init__(self, thread: GrowingThread, turns: Sequence[Mapping[str, Any]]) -> None:
        self._thread = thread
        self._summaries = dict(summary for turn in turns for summary in _summaries(turn))
        """Text of each summary, by the id of the last round that it replaces."""
        self._summary = ""
        """Text of the summary by which the next round or prompt replaces earlier messages; empty if there is none."""
        self._has_context = False
        self.unrendered = 0

    def take(self, n: int, turn: Mapping[str, Any], typed: str) -> None:
        """Take a prompt of the user and the rounds that answered it."""
        about = _metadata(turn)
        time = iso_time(turn.get("timestamp"))
        model = text_of(turn.get("modelId")).removeprefix("copilot/")
        context = _rendered(about.get("renderedGlobalContext"))
        if context and not self._has_context:
            self._has_context = True
            self._thread.say(
                [Message("context", "user", (Text(context),), mark="meta", line=1, time=time)]
            )
        self._replace(f"t{n}", time)
        rendered = _rendered(about.get("renderedUserMessage"))
        self.unrendered += not rendered
        self._thread.say([Message(f"t{n}", "user", (Text(rendered or typed),), line=1, time=time)])
        rounds = _objects(about, "toolCallRounds") or _said(turn)
        results = object_of(about, "toolCallResults")
        for k, round_ in enumerate(rounds):
            self._thread.call(None, model, "" if k else time, line=1)
            before = (
                {message.id for message in self._thread.view()} if self._summary else set[str]()
            )
            self._thread.hear(CHAT, _items(round_, results), f"t{n}.{k}", 1)
            self._replace(f"t{n}.{k}", time, before)
            self._summary = self._summaries.get(text_of(round_.get("id")), "")

    def _replace(self, name: str, time: str, gone: set[str] | None = None) -> None:
        """Replace messages by the pending summary: those with the ids in `gone`, or all if it is None."""
        if self._summary:
            replaced = {message.id for message in self._thread.view()} if gone is None else gone
            self._thread.condense(
                replaced, self._summary, offset=0, name=f"{name}.summary", line=1, time=time
            )
            self._summary = ""


def _items(round_: Mapping[str, Any], results: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a round as Chat Completions messages: the answer, then the results of its tool calls."""
    thinking = object_of(round_, "thinking").get("text")
    calls = _objects(round_, "toolCalls")
    yield {
        "role": "assistant",
        "reasoning_content": "".join(map(text_of, thinking))
        if isinstance(thinking, list)
        else thinking,
        "content": text_of(round_.get("response")),
        "tool_calls": calls,
    }
    for call in calls:
        name = text_of(call.get("id"))
        if name in results:
            parts = list_of(object_of(results, name).get("content"))
            yield {"role": "tool", "tool_call_id": name, "content": "\n".join(map(_result, parts))}


def _result(part: Any) -> str:
    """Return a part of a tool result as text. A tree of VS Code's prompt-tsx elements gives its texts in order."""
    value = part.get("value") if isinstance(part, Mapping) else part
    if isinstance(value, str):
        return value
    texts: list[str] = []
    waiting = [value.get("node") if isinstance(value, Mapping) else None]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            if isinstance(text := node.get("text"), str):
                texts.append(f"\n{text}" if node.get("lineBreakBefore") and texts else text)
            waiting += reversed(list_of(node.get("children")))
    return "".join(texts)


def _rendered(parts: Any) -> str:
    texts = [part.get("text") for part in objects_of(parts)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _said(turn: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the answer that the user saw as one round, for a turn without recorded rounds."""
    values = [part.get("value") for part in _objects(turn, "response") if "kind" not in part]
    text = "".join(value for value in values if isinstance(value, str))
    return [{"response": text}] if text else []


def _summaries(turn: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    about = _metadata(turn)
    for summary in (object_of(about, "summary"), *_objects(about, "summaries")):
        yield text_of(summary.get("toolCallRoundId")), text_of(summary.get("text"))


def _metadata(turn: Mapping[str, Any]) -> Mapping[str, Any]:
    return object_of(object_of(turn, "result"), "metadata")


def _objects(value: Any, key: str) -> list[Mapping[str, Any]]:
    return objects_of(value.get(key)) if isinstance(value, Mapping) else []


def _after(chat: Any, entry: Any) -> Any:
    """Return the chat after one entry of the log. Raises TypeError, ValueError, LookupError for an invalid entry."""
    kind = entry["kind"]
    path = entry.get("k", [])
    value = entry.get("v")
    if kind == 0:
        return value
    if kind not in (_SET, _PUSH, _DELETE) or chat is None or len(path) > _DEEPEST:
        raise ValueError(kind)
    keep = entry.get("i")

    def change(old: Any) -> Any:
        if kind == _DELETE:
            return None
        if kind == _SET:
            return value
        kept = (old or [])[: keep if type(keep) is int else None]
        return [*kept, *(value or [])]

    return _changed(chat, path, change)


def _changed(value: Any, path: Sequence[Any], change: Callable[[Any], Any]) -> Any:
    """Return a copy of `value` with `change` applied at the end of the path; the arguments are not modified."""
    if not path:
        return change(value)
    key, *rest = path
    if isinstance(value, list):
        item = value[key] if key < len(value) else None
        return [*value[:key], _changed(item, rest, change), *value[key + 1 :]]
    fields = value or {}
    return {**fields, key: _changed(fields.get(key), rest, change)}


_KEPT = "User/workspaceStorage/*/chatSessions/*.json*"
_LOOSE = "User/globalStorage/emptyWindowChatSessions/*.json*"
_FOLDERS = tuple(
    AgentFolder(f"*/{inside}", under, variable)
    for under, variable in ((".config", "XDG_CONFIG_HOME"), ("Library/Application Support", ""))
    for inside in (_KEPT, _LOOSE)
)
FORMAT = Format(
    NAME,
    title="VS Code Copilot chat",
    sniff=FileSigns(FileSign(_is_chat), FileSign({"kind": 0, "v": _is_chat})),
    start=VsCodeChatReader,
    grows=True,
    folders=_FOLDERS,
    contents=Contents(more="exported, or as VS Code keeps it"),
)
