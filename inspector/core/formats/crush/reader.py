"""The reader of Crush sessions: rows of its database, session by session.

A row is `{"table": "crush.sessions" | "crush.messages", "row": {...}}`, its parts parsed; `crush.database` says first
which session is read, and which the database holds. The last message is written again until it is complete.

An answer is one call, but for one that is nothing but an error. After a summary Crush sends it in the user's name, and
what came after it. What a tool gave back is its `content`; its `metadata` is for the screen.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inspector.core.buffer import Stretch
from inspector.core.formats.excerpt import excerpt
from inspector.core.formats.times import iso_time
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult
from inspector.core.prefix import Prefix
from inspector.core.session import Compaction, HeldSession, Problem, Request, Session, SideCall, Thread
from inspector.core.untyped import count_of, object_of, objects_of, text_at, value_in
from inspector.core.usage import Usage
from inspector.core.words import dollars

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}
_IN_MS = 10**11


class _Laid:
    """What the rows make, in order; on a fork, what the last ones do until they are complete."""

    def __init__(self, below: "_Laid | None" = None) -> None:
        self.stretch: Stretch = Stretch(below.stretch.view() if below else None)
        self.messages: list[Message] = []
        self.requests: list[Request] = []
        self.compactions: list[Compaction] = []
        self.aside: list[SideCall] = []
        self._before = len(below.requests) if below else 0
        self._compacted = len(below.compactions) if below else 0

    def take(self, row: Mapping[str, Any], is_summary: bool) -> None:
        """The next row."""
        read, time = _messages(row), _time(row)
        finish = [object_of(part, "data") for part in _parts(row) if part.get("type") == "finish"]
        reason, made = text_at(finish[-1], "reason") if finish else "", self._before + len(self.requests)
        is_answer = row.get("role") == "assistant"
        if is_answer and is_summary and read:
            summary = replace(read[0], role="user", summary=True, mark="meta")
            self.aside.append(SideCall("compaction", "", made, self._compacted + len(self.compactions), time=time))
            self.compactions.append(Compaction(made, "", summary=summary, time=time))
            self.messages += (summary, *read[1:])
            self.stretch = Stretch(own=(summary,))
            return
        if is_answer and (read or reason != "error"):
            self.requests.append(
                Request(made, self.stretch.view(), model=text_at(row, "model"), time=time, finish=reason)
            )
        self.messages += read
        self.stretch.append(*read)


class CrushTrack:
    """A session as its rows come: new ones at the end, old ones again."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.about: Mapping[str, Any] = {}
        self._rows: dict[str, Mapping[str, Any]] = {}
        self._places: dict[str, int] = {}
        self._order: list[str] = []
        self._settled = 0
        self._laid = _Laid()
        self._fork: _Laid | None = None

    def take_session(self, row: Mapping[str, Any]) -> None:
        """What is known of the session; the message that became its summary may be laid as an answer already."""
        if text_at(row, "summary_message_id") != text_at(self.about, "summary_message_id"):
            self._lay_anew()
        self.about = row

    def take_message(self, row: Mapping[str, Any]) -> None:
        """A stored message, new or once more."""
        name, self._fork = text_at(row, "id"), None
        if name not in self._rows:
            self._places[name] = len(self._order)
            self._order.append(name)
        elif self._places[name] < self._settled:
            self._lay_anew()
        self._rows[name] = row

    def _lay_anew(self) -> None:
        self._settled, self._laid, self._fork = 0, _Laid(), None

    def is_empty(self) -> bool:
        """Has no message come?"""
        return not self._rows

    def _soon(self) -> _Laid:
        """A fork with what is not complete yet."""
        if self._fork is None:
            while self._settled < len(self._order) and _is_complete(self._rows[self._order[self._settled]]):
                self._take(self._laid, self._order[self._settled])
                self._settled += 1
            self._fork = _Laid(self._laid)
            for name in self._order[self._settled :]:
                self._take(self._fork, name)
        return self._fork

    def _take(self, laid: _Laid, name: str) -> None:
        row = self._rows[name]
        laid.take(row, row.get("is_summary_message") == 1 or name == text_at(self.about, "summary_message_id"))

    def aside(self, thread: str) -> list[SideCall]:
        """The calls that wrote summaries, as calls of that thread."""
        fork = self._soon()
        return [replace(call, thread=thread) for call in self._laid.aside + fork.aside]

    def started(self, name: str) -> str:
        """The tool call that started the session of that name: Crush names such sessions by it; empty for none."""
        call = name.rpartition("$$")[2]
        for row in self._rows.values():
            for part in _parts(row):
                if part.get("type") == "tool_call" and text_at(object_of(part, "data"), "id") in (call, name):
                    return text_at(object_of(part, "data"), "id")
        return ""

    def thread(self, name: str, parent: str, parent_call: str) -> Thread:
        """The thread so far: it shares what is settled."""
        fork, laid = self._soon(), self._laid
        settled, then = len(laid.requests), list(fork.requests)
        if not then and settled:
            settled, then = settled - 1, [laid.requests[-1]]
        made = [*laid.compactions, *fork.compactions][-1:]
        summarised = bool(made and then) and made[0].before_request > then[-1].index  # the sum is that of this call
        if then and not summarised:
            then[-1] = replace(then[-1], usage=self._usage())
        return Thread(
            id=name,
            title=text_at(self.about, "title"),
            model=then[-1].model if then else "",
            requests=Prefix(laid.requests, settled, then),
            messages=Prefix(laid.messages, then=fork.messages),
            end=fork.stretch.view(),
            compactions=Prefix(laid.compactions, then=fork.compactions),
            parent=parent,
            parent_call=parent_call,
        )

    def _usage(self) -> Usage | None:
        """Of the last call, prompt and answer in one sum; None where it is unknown (zero)."""
        total = sum(count_of(self.about.get(name)) for name in ("prompt_tokens", "completion_tokens"))
        return Usage(total, output_is_final=False) if total > 1 else None


def _is_complete(row: Mapping[str, Any]) -> bool:
    return row.get("role") != "assistant" or any(part.get("type") == "finish" for part in _parts(row))


def _parts(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return objects_of(row.get("parts"))


def _time(row: Mapping[str, Any]) -> str:
    """Crush writes seconds, whatever its schema says."""
    made = row.get("created_at")
    return iso_time(made, 1000 if isinstance(made, int) and made >= _IN_MS else 1)


def _messages(row: Mapping[str, Any]) -> list[Message]:
    """What a row is to the model: one message, but for each of several tools' answers."""
    name, time = text_at(row, "id"), _time(row)
    parts = [part for one in _parts(row) if (part := _part(one)) is not None]
    results = [part for part in parts if isinstance(part, ToolResult)]
    others = tuple(part for part in parts if not isinstance(part, ToolResult))
    found = [
        Message(f"{name}.{n}" if n else name, "tool", (result,), name if len(results) > 1 else "", time=time)
        for n, result in enumerate(results)
    ]
    if others:
        role = _ROLES.get(text_at(row, "role"), "user")
        found.append(Message(f"{name}.more" if results else name, "user" if results else role, others, time=time))
    return found


def _part(part: Mapping[str, Any]) -> Part | None:
    data = object_of(part, "data")
    match part.get("type"):
        case "text":
            return Text(text_at(data, "text")) if text_at(data, "text") else None
        case "reasoning":
            thought, signature = text_at(data, "thinking"), text_at(data, "signature")
            return Thinking(thought, signature) if thought or signature else None
        case "tool_call":
            given = text_at(data, "input")
            return ToolCall(text_at(data, "id"), text_at(data, "name"), value_in(given, given) if given else {})
        case "tool_result":
            return ToolResult(text_at(data, "tool_call_id"), text_at(data, "content"), data.get("is_error") is True)
        case "image_url":
            return Image("", url=text_at(data, "url"))
        case "binary":
            return _media(data)
        case "finish":
            return None
        case kind:
            return Opaque(str(kind), dict(part), len(dumps(part).encode("utf-8", errors="replace")))


def _media(data: Mapping[str, Any]) -> Part:
    media, content = text_at(data, "MIMEType"), text_at(data, "Data")
    if media.startswith("image/"):
        return Image(media, content, text_at(data, "Path"))
    return Opaque("binary", dict(data), len(content))


NAME = "crush"
TABLES = ("crush.database", "crush.sessions", "crush.messages")
_ONE_POINT = (
    "Crush keeps the tokens of the last call only: its prompt and its answer as one sum, which is shown as the prompt. "
    "Nothing tells how much of it was read from a cache."
)


class CrushReader:
    """A `Reader`. A row that has changed is fed again; a row that is gone needs a fresh reader."""

    def __init__(self) -> None:
        self._tracks: dict[str, CrushTrack] = {}
        self._main = ""
        self._held: list[HeldSession] = []
        self._problems: list[Problem] = []

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take a row. Never raises for what it holds."""
        table, row = (value.get("table"), value.get("row")) if isinstance(value, dict) else (None, None)
        if table not in TABLES or not isinstance(row, dict):
            self._problems.append(Problem(line, "not a row of Crush's database", excerpt(value), file))
        elif table == "crush.database":
            self._main = text_at(row, "session")
            told = objects_of(row.get("held"))
            self._held = [HeldSession(text_at(one, "id"), text_at(one, "title")) for one in told]
        elif table == "crush.sessions":
            self._track(text_at(row, "id")).take_session(row)
        elif isinstance(row.get("parts"), list):
            self._track(text_at(row, "session_id")).take_message(row)
        else:
            what = f"the message {text_at(row, 'id')[:60]!r} holds no list of parts: it was left out"
            self._problems.append(Problem(line, what, excerpt(row.get("parts"))))

    def _track(self, name: str) -> CrushTrack:
        track = self._tracks.get(name)
        if track is None:
            track = self._tracks[name] = CrushTrack(name)
        return track

    def session(self) -> Session:
        """The session so far: the main one, and those that it started."""
        main = self._tracks.get(self._main) or next(iter(self._tracks.values()), CrushTrack(""))
        agents = [track for track in self._tracks.values() if track is not main and not track.is_empty()]
        cost = main.about.get("cost")
        notes = [_ONE_POINT]
        if isinstance(cost, int | float) and cost > 0:
            notes.append(f"Crush reckoned {dollars(cost)} for the whole session.")
        return Session(
            format=NAME,
            threads=(main.thread("main", "", ""), *(self._agent(track, main) for track in agents)),
            problems=Prefix(self._problems),
            client="Crush",
            id=main.name,
            notes=tuple(notes),
            side_calls=[call for one in (main, *agents) for call in one.aside("main" if one is main else one.name)],
            held=self._held if len(self._held) > 1 else (),
        )

    def _agent(self, track: CrushTrack, main: CrushTrack) -> Thread:
        named = text_at(track.about, "parent_session_id")
        parent = self._tracks.get(named, main)
        return track.thread(track.name, "main" if parent is main else parent.name, parent.started(track.name))
