"""The reader of journals. What it collects opens as a session, and is all that a run needs to be resumed."""

from collections.abc import Mapping
from typing import Any

from inspector.core.buffer import NOT_IN_FILE, Prompt
from inspector.core.dialects.neutral import read_buffer
from inspector.core.errors import InspectorError
from inspector.core.formats.journal.threads import ThreadBuilder
from inspector.core.formats.reading import excerpt
from inspector.core.prefix import Prefix
from inspector.core.session import Problem, Session
from inspector.core.untyped import text_of, texts_at
from inspector.core.usage import ABSURD, MOST, is_absurd

NAME = "journal"
MAIN = "main"
_ENDS = {
    "done": "The run came to its end.",
    "stopped": "The run was stopped.",
    "max turns": "The run was ended after the number of turns that it may take.",
}


class JournalReader:
    """A `Reader`. Unknown records are passed over: a later version may write more."""

    def __init__(self) -> None:
        self.header: Mapping[str, Any] = {}
        self.threads: dict[str, ThreadBuilder] = {}
        self.allowed: dict[str, None] = {}
        """What may be done without being asked again, by the words it is remembered by."""
        self.remote: bool | None = None
        """Whether the provider turned out to compact remotely, where that is told."""
        self.compacted = 0
        """How often the provider was asked to compact since the run began, or was resumed."""
        self._prompt = NOT_IN_FILE
        self._window: int | None = None
        self._problems: list[Problem] = []
        self._notes: list[str] = []
        self._end = ""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take one record. O(record), but for a changed buffer: O(buffer)."""
        kind = value.get("type") if isinstance(value, Mapping) else None
        if not isinstance(kind, str):
            self._problems.append(Problem(line, "not a record of a journal", excerpt(value), file))
            return
        try:
            self._take(kind, value, line, text_of(value.get("time")))
        except InspectorError as why:
            self._problems.append(
                Problem(line, f"a {kind[:40]} record that cannot be read: {why}", excerpt(value), file)
            )

    def _take(self, kind: str, value: Mapping[str, Any], line: int, time: str) -> None:
        match kind:
            case "journal":
                self._take_header(value)
            case "thread":
                self._take_thread(value)
            case "message":
                self._of(value).take(value.get("message"), line, time)
            case "request":
                self._of(value).ask(value, line, time)
            case "answer":
                self._of(value).answer(self._counted(value.get("answer"), line), line, time)
            case "failed":
                self._of(value).fail(value.get("failure"))
            case "tier":
                self._of(value).change(value, line, time, text_of(value.get("tier")) or "tier")
                self._of(value).hear(value, line, text_of(value.get("tier")))
            case "edit":
                self._of(value).change(value, line, time, "" if value.get("by") == "turn" else text_of(value.get("by")))
            case "running":
                self._of(value).run(value)
            case _:
                self._take_small(kind, value, line)

    def _counted(self, answer: Any, line: int) -> Any:
        """An answer without its usage, where that is none."""
        if not isinstance(answer, Mapping) or not is_absurd(answer.get("usage")):
            return answer
        self._problems.append(Problem(line, ABSURD, excerpt(answer.get("usage"))))
        return {key: value for key, value in answer.items() if key != "usage"}

    def _take_small(self, kind: str, value: Mapping[str, Any], line: int) -> None:
        """Records that no buffer depends on."""
        match kind:
            case "tool":
                self._of(value).begun[text_of(value.get("call"))] = line
            case "permission" if value.get("answer") == "always":
                self.allowed[text_of(value.get("covers"))] = None
            case "remote" if isinstance(value.get("possible"), bool):
                self.remote = value["possible"]
            case "tried":
                self._of(value).hear(value, line, text_of(value.get("tier")))
            case "need" if value.get("need") == "remote_compact":
                self.compacted += 1
            case "resumed":
                self._end, self.compacted = "", 0
                self._take_plan(value.get("plan"))
                self._notes.append(f"It was resumed at {text_of(value.get('time'))}.")
            case "end":
                why = text_of(value.get("why"))
                self._end = _ENDS.get(why) or f"The run ended with an error: {text_of(value.get('error'))}"

    def _take_plan(self, plan: Any) -> None:
        """From here on it may be another model, or another policy with a running state of its own."""
        if not isinstance(plan, Mapping):
            return
        if plan.get("policy") != self.header.get("policy"):
            for thread in self.threads.values():
                thread.running = {}
        told = {key: value for key, value in plan.items() if key not in ("task", "forked_from", "program")}
        self.header = {**self.header, **told}
        self._take_window()
        for thread in self.threads.values():
            thread.window = self._window

    def _take_window(self) -> None:
        window = self.header.get("window")
        self._window = window if type(window) is int and 0 < window <= MOST else None

    def _take_header(self, value: Mapping[str, Any]) -> None:
        if self.header:
            raise InspectorError("a second beginning")
        self.header = value
        self._take_window()
        self._prompt = _prompt(value.get("prompt"))
        forked = value.get("forked_from")
        if isinstance(forked, Mapping):
            place = f"request {forked['request']}" if isinstance(forked.get("request"), int) else "the end"
            self._notes.append(
                f"Forked from {text_of(forked.get('path'))}, thread {text_of(forked.get('thread')) or MAIN}, {place}."
            )
            self._notes += texts_at(forked, "changes")

    def _take_thread(self, value: Mapping[str, Any]) -> None:
        thread = self._of({"thread": value.get("id")})
        thread.title, thread.parent = text_of(value.get("title")), text_of(value.get("parent"))
        thread.parent_call = text_of(value.get("parent_call"))
        if "prompt" in value:
            thread.prompt = _prompt(value["prompt"])

    def _of(self, value: Mapping[str, Any]) -> ThreadBuilder:
        """The thread of a record; one that was not announced begins with it."""
        name = text_of(value.get("thread")) or MAIN
        if name not in self.threads:
            self.threads[name] = ThreadBuilder(name, self._prompt, self._window)
            self.threads[name].model = text_of(self.header.get("model"))
        return self.threads[name]

    def session(self) -> Session:
        """The session so far."""
        ordered = sorted(self.threads.values(), key=lambda thread: thread.id != MAIN)
        notes = [] if self.header else ["The file has no beginning: task, model and prompt are not known."]
        return Session(
            NAME,
            tuple(thread.thread() for thread in ordered),
            Prefix(self._problems),
            client=text_of(self.header.get("program")) or "context-inspector",
            policy=text_of(self.header.get("policy")),
            id=text_of(self.header.get("id")),
            notes=(*notes, *self._notes, *([self._end] if self._end else [])),
        )


def _prompt(value: Any) -> Prompt:
    return read_buffer({**value, "messages": []}).prompt if isinstance(value, Mapping) else NOT_IN_FILE
