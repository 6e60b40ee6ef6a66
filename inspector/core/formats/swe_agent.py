"""Read SWE-agent's trajectories: the history of one agent, and in newer files the messages that each step sent.

If a step holds its messages (`query` or `messages`), they are the buffer. If not, the buffer is the history before the
answer. Older versions removed long observations before sending, and the file does not record which. Tokens are recorded
as totals only. A replayed demonstration has neither calls nor tokens.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.calls import CallList, chat_call
from inspector.core.formats.format import Contents, DocumentReader, FedValues, Format
from inspector.core.formats.growing import GrowingThread, split_prompt
from inspector.core.formats.reading import ProblemList
from inspector.core.formats.signs import FileSign, FileSigns, fits_pattern
from inspector.core.message import Message
from inspector.core.session import Session, Thread
from inspector.core.tokens.estimators import buffer_tokens, estimator
from inspector.core.untyped import count_of, first_of, list_of, object_of, objects_of, text_of

NAME = "swe-agent"
_BY_CHARACTERS = estimator("chars4")
_MORE = 1.15
"""Factor by which the buffers must exceed the tokens sent: more than the error of an estimate by characters."""
_OWN = (
    "agent",
    "message_type",
    "thought",
    "action",
    "is_demo",
    "tool_call_ids",
    "tags",
    "cache_control",
)
_UNSEEN = "Every buffer is the history before its answer; what SWE-agent left out of the history is not in this file."
_DEMO = "The first messages are a demonstration; its answers were no calls."


def _are_steps(value: Any) -> bool:
    return isinstance(value, list) and (
        not value or "action" in first_of(value) or "response" in first_of(value)
    )


def _is_own_history(value: Any) -> bool:
    """Is the value a history with keys that only SWE-agent writes?"""
    if not fits_pattern(value, [{"role": "<any>", "content": "<any>"}]):
        return False
    return any(key in message for message in objects_of(value)[:4] for key in _OWN[:4])


_SIGNS = FileSigns(
    FileSign({"trajectory": _are_steps, "history": []}, "document", sure=0.97),
    FileSign({"trajectory": _are_steps, "info": "<any>"}, "document", sure=0.97),
    FileSign({"history": _is_own_history}, "document", sure=0.95),
)


def read(fed: FedValues) -> Session:
    """Read the session from the document."""
    threads: tuple[Thread, ...] = (Thread("main"),)
    problems = ProblemList()
    notes = list[str]()
    name = ""
    for line, value, file in fed:
        if not isinstance(value, Mapping):
            problems.note(line, "not a trajectory", value, file)
            continue
        name = text_of(value.get("environment"))
        steps = objects_of(value.get("trajectory"))
        sent = [_sent(step) for step in steps]
        if steps and all(sent):
            threads = _by_steps(line, steps, sent)
        else:
            rows = objects_of(value.get("history")) or _from_steps(steps)
            threads = _by_history(line, rows) or threads
            notes += [_DEMO, _UNSEEN] if any(row.get("is_demo") for row in rows) else [_UNSEEN]
        notes += _totals(threads, object_of(object_of(value, "info"), "model_stats"))
    return Session(NAME, threads, problems, client="SWE-agent", id=name, notes=tuple(notes))


def _by_steps(
    line: int, steps: Sequence[Mapping[str, Any]], sent: Sequence[Sequence[Any]]
) -> tuple[Thread, ...]:
    calls = CallList(is_one=True)
    for step, messages, following in zip(steps, sent, [*sent[1:], ()], strict=True):
        calls.add(
            chat_call(
                [_wire(message) for message in messages],
                _answer(step, messages, following),
                line=line,
            )
        )
    return calls.threads()[0]


def _by_history(line: int, rows: Sequence[Mapping[str, Any]]) -> tuple[Thread, ...]:
    rows_by_agent: dict[str, list[Mapping[str, Any]]] = {}
    first = next((name for row in rows if (name := text_of(row.get("agent")))), "")
    for row in rows:
        rows_by_agent.setdefault(text_of(row.get("agent")) or first, []).append(row)
    return tuple(
        _thread(line, own, agent, n) for n, (agent, own) in enumerate(rows_by_agent.items())
    )


def _totals(threads: Iterable[Thread], stats: Mapping[str, Any]) -> Iterator[str]:
    sent, received, calls = (
        count_of(stats.get(key)) for key in ("tokens_sent", "tokens_received", "api_calls")
    )
    if sent:
        counts = f"{sent:,} sent, {received:,} received, {calls:,} calls"
        yield f"This file records tokens as totals only: {counts}."
        requests = [request for thread in threads for request in thread.requests]
        buffered = sum(
            buffer_tokens(_BY_CHARACTERS, request.view, request.prompt) for request in requests
        )
        if buffered > _MORE * sent:
            more = f"The buffers shown come to some {buffered:,} tokens by their characters"
            yield f"{more}: a part of them was left out before they were sent."


def _thread(line: int, messages: Sequence[Mapping[str, Any]], agent: str, number: int) -> Thread:
    grown = (
        GrowingThread("main")
        if not number
        else GrowingThread(agent or f"agent-{number}", agent, "main")
    )
    system, rest = split_prompt(list(messages))
    grown.prompt = Prompt(system)
    for n, message in enumerate(rest):
        if message.get("role") == "assistant" and not message.get("is_demo"):
            grown.call(None, line=line)
        grown.say(_read(message, f"{number}.{n}", line))
    return grown.thread()


def _sent(step: Mapping[str, Any]) -> list[Any]:
    """Return the messages that a step sent; empty if not recorded."""
    return next(
        (messages for key in ("query", "messages") if (messages := list_of(step.get(key)))), []
    )


def _wire(message: Any) -> Any:
    """Return a message as it was sent, without the keys that SWE-agent adds in the file."""
    if not isinstance(message, Mapping):
        return message
    wire = {key: value for key, value in message.items() if key not in _OWN and value is not None}
    ids = message.get("tool_call_ids")
    if (
        message.get("role") == "tool"
        and isinstance(ids, list)
        and ids
        and "tool_call_id" not in wire
    ):
        wire["tool_call_id"] = ids[0]
    return wire


def _answer(
    step: Mapping[str, Any], sent: Sequence[Any], following: Sequence[Any]
) -> Mapping[str, Any]:
    """Return the answer of a step as the next step sends it, or as the step records it."""
    after = first_of(following[len(sent) :])
    if following[: len(sent)] == sent and after.get("role") == "assistant":
        return {**_wire(after)}
    return {
        "role": "assistant",
        "content": text_of(step.get("response")) or text_of(step.get("thought")),
    }


def _from_steps(steps: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the history of a file that has none: the answers and observations of its steps."""
    messages: list[Mapping[str, Any]] = []
    for step in steps:
        messages.append({"role": "assistant", "content": text_of(step.get("response"))})
        if observed := text_of(step.get("observation")):
            messages.append({"role": "user", "content": observed})
    return messages


def _read(message: Mapping[str, Any], name: str, line: int) -> list[Message]:
    return [
        replace(read_message, id=f"h{name}")
        for read_message in CHAT.read(_wire(message), name, line, "")
    ]


FORMAT = Format(
    NAME,
    title="SWE-agent trajectory",
    sniff=_SIGNS,
    start=partial(DocumentReader, read),
    grows=True,
    contents=Contents(tokens="no: totals, as notes", system="yes", more="`*.traj`"),
)
