"""Read ATIF, harbor's trajectories (1.0 to 1.7), and their training form: a list with one whole conversation per call.

A step of the agent is one call. Its observation belongs to the buffer of the next call.

A system step before the first user step is the system prompt; a later system step is a note about the run and was not
sent. A system step that names other trajectories is a compaction: the first user step stays in context, followed by the
steps of the named files if those files are in the same folder and hold no copied steps. A step with `is_copied_context`
is in the buffer but was not a call. The totals at the end of a file include the calls of other files and are not used.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.calls import CallList, chat_call
from inspector.core.formats.format import Contents, DocumentReader, FedValues, Format, Head
from inspector.core.formats.growing import GrowingThread, measured
from inspector.core.formats.many import ManyReader
from inspector.core.formats.reading import ProblemList
from inspector.core.formats.signs import FileSign, FileSigns, fits_pattern
from inspector.core.session import Compaction, HeldSession, Session, Thread
from inspector.core.untyped import count_of, list_of, object_of, objects_of, text_of
from inspector.core.usage import Usage, is_absurd

NAME, TRACES = "atif", "atif-traces"
_RUN = ("run_id", "trial_name", "task")
_COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens")


_TRAJECTORY = {"schema_version": "ATIF-*", "steps": []}


def companions(path: PurePath) -> Sequence[str]:
    """Return the glob that finds, for `trajectory.json`, files like `trajectory.cont-1.json` in the same folder."""
    return (f"{path.stem}.*.json",) if not set("[]*?") & set(path.stem) else ()


def is_companion(head: Head, session: Session) -> bool:
    """Is the file a trajectory that the session started, or a continuation of the session?"""
    if not fits_pattern(head.document, _TRAJECTORY):
        return False
    about = object_of(object_of(head.document, "agent"), "extra")
    return session.id in (head.document.get("session_id"), about.get("parent_session_id"))


def read(fed: FedValues) -> Session:
    """Read a trajectory, its continuations, and the trajectories of the runs that it started."""
    problems = ProblemList()
    files = dict[str, Mapping[str, Any]]()
    main_line = 0
    for line, value, file in fed:
        if isinstance(value, Mapping) and isinstance(value.get("steps"), list):
            files[file] = value
            main_line = main_line if file else line
        else:
            problems.note(line, "not a trajectory", value, file)
    main = files.pop("", {})
    name = text_of(main.get("session_id"))
    parts = [
        main,
        *(document for _, document in sorted(files.items()) if document.get("session_id") == name),
    ]
    threads = [_Trajectory("main", files).read(parts, main_line)]
    for file, document in sorted(files.items()):
        if document.get("session_id") != name:
            named = text_of(document.get("session_id")).removeprefix(f"{name}-") or file
            title = text_of(object_of(document, "agent").get("name"))
            threads.append(
                _Trajectory(named, others={}, title=title, parent="main").read([document], 1)
            )
    agent = object_of(main, "agent")
    client = f"{text_of(agent.get('name'))} {text_of(agent.get('version'))}".strip()
    return Session(
        NAME, tuple(threads), problems, client=client, id=name, notes=tuple(_notes(main))
    )


def _notes(main: Mapping[str, Any]) -> Iterator[str]:
    if text := text_of(main.get("notes")):
        yield text[:300]
    if further := text_of(main.get("continued_trajectory_ref")):
        yield f"The session continues in {further}."


class _Trajectory:
    """Builds one thread from a trajectory and its continuations."""

    def __init__(
        self, name: str, others: Mapping[str, Mapping[str, Any]], title: str = "", parent: str = ""
    ) -> None:
        self._thread = GrowingThread(name, title, parent)
        self._others = others

    def read(self, parts: Sequence[Mapping[str, Any]], line: int) -> Thread:
        """Read the documents step by step."""
        for n, document in enumerate(parts):
            self._begin(document, n, line)
            steps = objects_of(document.get("steps"))
            spoken = next(
                (at for at, step in enumerate(steps) if step.get("source") != "system"), len(steps)
            )
            for at, step in enumerate(
                steps[spoken:] if self._thread.prompt.system is not None else steps
            ):
                self._take(step, f"s{n or ''}{'.' if n else ''}{step.get('step_id', at)}", line)
        return self._thread.thread()

    def _begin(self, document: Mapping[str, Any], part: int, line: int) -> None:
        agent = object_of(document, "agent")
        self._thread.model = text_of(agent.get("model_name")) or self._thread.model
        if part:  # a continuation repeats the buffer that it begins with
            self._thread.begin_again((), Compaction(before_request=0, trigger="", line=line))
            return
        leading = []
        for step in list_of(document.get("steps")):
            if (
                not isinstance(step, Mapping)
                or step.get("source") != "system"
                or step.get("observation")
            ):
                break
            leading.append(_text(step.get("message")))
        tools = agent.get("tool_definitions")
        definitions = CHAT.prompt({"tools": tools}).tools if isinstance(tools, list) else None
        self._thread.prompt = Prompt("\n\n".join(leading) if leading else None, definitions)

    def _take(self, step: Mapping[str, Any], name: str, line: int) -> None:
        time = text_of(step.get("timestamp"))
        results = objects_of(object_of(step, "observation").get("results"))
        source = step.get("source")
        if source == "system":
            refs = [
                ref for result in results for ref in list_of(result.get("subagent_trajectory_ref"))
            ]
            if refs:
                self._compact(refs, name, line, time)
            return
        wire: dict[str, Any] = {"role": "user", "content": _content(step.get("message"))}
        if source == "agent":
            if not step.get("is_copied_context"):
                self._call(step, time, line)
            wire["role"] = "assistant"
            if thought := text_of(step.get("reasoning_content")):
                wire["reasoning_content"] = thought
            if calls := [_call(call) for call in objects_of(step.get("tool_calls"))]:
                wire["tool_calls"] = calls
        self._thread.hear(CHAT, [wire], name, line, time)
        for result in results:
            if content := _content(result.get("content")):
                self._thread.hear(CHAT, [_observed(result, content)], f"{name}.o", line, time)

    def _call(self, step: Mapping[str, Any], time: str, line: int) -> None:
        metrics = object_of(step, "metrics")
        usage = None
        if metrics and not is_absurd(
            {key: value for key, value in metrics.items() if isinstance(value, int)}
        ):
            prompt, output, read = (count_of(metrics.get(key)) for key in _COUNTS)
            usage = measured(
                Usage(max(0, prompt - read), cache_read=min(read, prompt), output=output)
            )
        self._thread.call(usage, text_of(step.get("model_name")), time, "", line)

    def _compact(self, refs: Sequence[Any], name: str, line: int, time: str) -> None:
        """Begin a new buffer with the first user message, followed by the steps of the trajectories in `refs`."""
        first = [
            message for message in self._thread.view().messages()[:1] if message.role == "user"
        ]
        self._thread.begin_again(
            first, Compaction(before_request=0, trigger="", kept=len(first), line=line, time=time)
        )
        for n, ref in enumerate(refs):
            other = self._other(ref)
            steps = objects_of(other.get("steps"))
            if not any(step.get("is_copied_context") for step in steps):
                for step in steps:
                    self._take(
                        {**step, "is_copied_context": True},
                        f"{name}.{n}.{step.get('step_id')}",
                        line,
                    )

    def _other(self, ref: Any) -> Mapping[str, Any]:
        """Return the document that a step refers to; empty if that document was not read."""
        session_id = ref.get("session_id") if isinstance(ref, Mapping) else None
        if not session_id:
            return {}
        return next(
            (other for other in self._others.values() if other.get("session_id") == session_id), {}
        )


def _text(message: Any) -> str:
    if isinstance(message, list):
        return "\n".join(text_of(part.get("text")) for part in message if isinstance(part, Mapping))
    return text_of(message)


def _content(message: Any) -> Any:
    """Return the content of a message as a text or a list of parts. Images are files beside the trajectory."""
    if not isinstance(message, list):
        return text_of(message)
    return [_part(part) for part in message]


def _part(part: Any) -> Any:
    if isinstance(part, Mapping) and part.get("type") == "image":
        source = object_of(part, "source")
        return {
            "type": "image_url",
            "image_url": {"url": text_of(source.get("path")) or text_of(source.get("url"))},
        }
    return part


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": call.get("function_name"), "arguments": call.get("arguments")}
    return {"id": call.get("tool_call_id"), "function": function}


def _observed(result: Mapping[str, Any], content: Any) -> dict[str, Any]:
    """Return an observation as a tool result, or as a user message if it names no tool call."""
    call = text_of(result.get("source_call_id"))
    if call:
        return {"role": "tool", "tool_call_id": call, "content": content}
    return {"role": "user", "content": content}


_CONVERSATION = {"conversations": [{"role": "<any>"}]}
_TRIAL_KEYS = (*_RUN, "episode", "agent")
"""Keys that name the trial of a conversation. Other data sets of conversations have none of these keys."""


def split_traces(value: Any) -> Sequence[tuple[HeldSession, Any]]:
    """Group the conversations of a file by run: each run is one session."""
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for row in value if isinstance(value, list) else [value]:
        if isinstance(row, Mapping):
            name = "/".join(str(row[key]) for key in _RUN if isinstance(row.get(key), str | int))
            runs.setdefault(name, []).append(row)
    return [(HeldSession(name, text_of(rows[0].get("task"))), rows) for name, rows in runs.items()]


def read_traces(fed: FedValues) -> Session:
    """Read the conversations of one run, one per call, in the order of their episodes."""
    calls = CallList(is_one=True)
    problems = ProblemList()
    agent = ""
    for line, rows, _ in fed:
        for row in sorted(rows, key=_episode):
            messages = objects_of(row.get("conversations"))
            if not messages or messages[-1].get("role") != "assistant":
                problems.note(line, "a conversation that does not end in an answer")
                continue
            agent = agent or text_of(row.get("agent"))
            model = text_of(row.get("model"))
            time = text_of(row.get("date"))
            calls.add(chat_call(messages[:-1], messages[-1], model=model, line=line, time=time))
    return Session(TRACES, calls.threads()[0] or (Thread("main"),), problems, client=agent)


def _episode(row: Mapping[str, Any]) -> tuple[int, str]:
    episode = str(row.get("episode", ""))
    digits = "".join(char for char in episode if char.isdecimal())
    return int(digits[:9]) if digits else 0, episode


FORMATS = (
    Format(
        NAME,
        title="ATIF trajectory",
        sniff=FileSigns(FileSign(_TRAJECTORY, "document")),
        start=partial(DocumentReader, read),
        companions=companions,
        is_companion=is_companion,
        grows=True,
        contents=Contents(
            "yes",
            system="if a system step begins it",
            tools="if the agent's definition has them",
            more="harbor; with those of the runs that it started",
        ),
    ),
    Format(
        TRACES,
        title="ATIF training conversations",
        sniff=FileSigns(
            *(
                FileSign([{**_CONVERSATION, key: "<any>"}], "document", sure=0.97)
                for key in _TRIAL_KEYS
            ),
            *(FileSign({**_CONVERSATION, key: "<any>"}, "every", sure=0.97) for key in _TRIAL_KEYS),
        ),
        start=partial(ManyReader, TRACES, split_traces, read_traces),
        is_many=True,
        grows=True,
        contents=Contents("no", system="yes", more="a session a trial"),
    ),
)
