"""Ask models and tools on behalf of a run: the agent's own calls and the needs of tiers.

Calls are streamed, can be stopped at once, and are retried if that may help. A need is answered by the run's provider,
by the offline summariser or by the user; needs about files are answered by the run itself. The journal records each
need with its reply. Tool calls that need permission are asked about, run, and their output is shortened.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from inspector.agent.plan import RunLimits
from inspector.agent.run import Run
from inspector.agent.status import NEED, Permission, Permit, RunStopped
from inspector.agent.tools.common import Question
from inspector.agent.tools.toolbox import TASK, denied, result_of
from inspector.core.answering import offline
from inspector.core.buffer import Buffer
from inspector.core.errors import Cancelled
from inspector.core.message import Message, ToolCall
from inspector.core.needs import (
    Answer,
    AskModel,
    ContextWindowExceeded,
    Failure,
    Need,
    ProviderFailure,
    ReadFile,
    RemoteCompact,
    SaveText,
    SaveTranscript,
    Summarize,
    Timeout,
)
from inspector.core.recording import write_reply

_PASSING = (408, 409, 425, 429, 500, 502, 503, 504, 529)


def waits(failure: Failure, tries: int, limits: RunLimits, timeouts: bool = True) -> float | None:
    """Return the seconds to wait before a retry; None if the call should not be retried.

    Args:
        failure: Why the call failed.
        tries: Number of tries so far.
        limits: The limits of the run.
        timeouts: Retry calls that took too long. False for a tier's call, whose time limit its harness has set.
    """
    passing = timeouts and isinstance(failure, Timeout)
    if isinstance(failure, ProviderFailure):
        passing = failure.status in _PASSING or failure.kind in ("connection", "broken", "empty")
    if not passing or tries > limits.retries:
        return None
    retry_after: float | None = getattr(failure, "retry_after_s", None)
    seconds = limits.backoff_s * 2 ** (tries - 1) if retry_after is None else retry_after
    return seconds if seconds <= limits.longest_wait_s else None


def sentence(failure: Failure) -> str:
    """Return what a failure says, or its name."""
    return str(failure) or type(failure).__name__


def patiently(
    run: Run, thread: str, call: Callable[[], Answer], write: Callable[[], None] | None
) -> Answer:
    """Make a call with as many retries as are worthwhile.

    `write` records each try in the journal; it is None for a tier's need. Raises the last Failure, or RunStopped.
    """
    tries = 0
    while True:
        run.check()
        if write is not None:
            write()
        tries += 1
        try:
            return call()
        except Cancelled:
            raise RunStopped from None
        except Failure as failure:
            again = None
            if not isinstance(failure, ContextWindowExceeded):
                again = waits(failure, tries, run.plan.limits, timeouts=write is not None)
            if write is not None:
                run.journal.failed(thread, failure, again)
            if again is None:
                raise
            run.publisher.publish(
                why=f"{sentence(failure)}; retry {tries} of {run.plan.limits.retries} in {again:g} s"
            )
            run.rest(again)


def ask_model(
    run: Run, thread: str, need: AskModel, buffer: Buffer, write: Callable[[], None]
) -> Answer:
    """Make the agent's own model call with the current `buffer`. Raises Failure, RunStopped."""
    model = run.models.of(thread, buffer.prompt)
    request = AskModel(buffer, need.max_tokens, need.stream)

    def call() -> Answer:
        run.publisher.publish(state="calling", why="")
        try:
            return model(request, run.publisher.begin_text(), run.is_stopped)
        finally:
            run.publisher.end_text()

    return patiently(run, thread, call, write)


_NO_SUCH = (404, 405, 501)
"""Statuses by which a server says that it has no such endpoint."""


def meet(run: Run, thread: str, need: Need, buffer: Buffer) -> Answer:
    """Answer a need and record it with its reply in the journal. Raises Failure, RunStopped."""
    run.check()
    run.journal.note("need", thread=thread, **_need_document(need))
    try:
        reply = _find_answer(run, thread, need, buffer)
    except Failure as failure:
        run.journal.note("reply", thread=thread, reply=write_reply(failure))
        raise
    run.journal.note("reply", thread=thread, reply=write_reply(reply))
    return reply


def _find_answer(run: Run, thread: str, need: Need, buffer: Buffer) -> Answer:
    if not isinstance(need, Summarize | RemoteCompact):
        return run.models.hands(need)
    match run.plan.needs_by:
        case "hand":
            return _wait_for_person(run, need)
        case "offline":
            return offline(need)
        case "provider":
            return _by_provider(run, thread, need, buffer)


def _by_provider(run: Run, thread: str, need: Need, buffer: Buffer) -> Answer:
    """Have the run's provider answer a need.

    If the provider has no endpoint for compaction, the run remembers that, and the failure is passed to the tier.
    """
    model = run.models.of(thread, buffer.prompt)
    try:
        return patiently(run, thread, call=lambda: model(need, None, run.is_stopped), write=None)
    except ProviderFailure as failure:
        if isinstance(need, RemoteCompact) and failure.status in _NO_SUCH:
            run.remote = False
            run.journal.note("remote", thread=thread, possible=False, why=str(failure))
        raise


def _wait_for_person(run: Run, need: Need) -> Answer:
    """Wait for the user's answer to a need. Raises the Failure that the user chose instead."""
    run.ask(NEED)
    run.publisher.publish(state="needing", need=need)
    try:
        reply: Answer | Failure = run.reply()
    finally:
        run.publisher.publish(state="tier", need=None)
    if isinstance(reply, Failure):
        raise reply
    return reply if reply.by else replace(reply, by="person")


def _need_document(need: Need) -> dict[str, Any]:
    """Return a short description of a need: its content follows from the buffer and the settings."""
    match need:
        case Summarize(instructions=instructions, text=text, messages=messages, purpose=purpose):
            size = {
                "instructions_chars": len(instructions),
                "text_chars": len(text),
                "messages": len(messages),
            }
            return {"need": "summarize", "purpose": purpose, **size, "timeout_s": need.timeout_s}
        case RemoteCompact(messages=messages):
            return {
                "need": "remote_compact",
                "messages": len(messages),
                "timeout_s": need.timeout_s,
            }
        case ReadFile(path=path):
            return {"need": "read_file", "path": path}
        case SaveTranscript(messages=messages, name=name):
            return {"need": "save_transcript", "name": name, "messages": len(messages)}
        case SaveText(text=text, name=name):
            return {"need": "save_text", "name": name, "text_chars": len(text)}
        case _:
            return {"need": type(need).__name__}


INTERRUPTED = (
    "The program was ended while this call ran: whether it was done, and how far, is not known. Look before you do it "
    "again."
)


def run_call(
    run: Run, call: ToolCall, thread: str, begun: bool, start: Callable[[ToolCall], Message]
) -> Message:
    """Run one tool call and return its result, after asking for permission if necessary.

    Args:
        run: The run.
        call: The call.
        thread: Name of the thread.
        begun: The call had begun before the program ended.
        start: Starts a sub-agent.

    Raises:
        RunStopped: The user stopped the run.
    """
    what = run.tools.needs_permission(call)
    if begun and (what or call.name == TASK):
        what = what or Question("Start the sub-agent once more, with this task:", _prompt(call))
        what = replace(what, says=f"{INTERRUPTED}\n\n{what.says}")
        if run.plan.permissions != "ask" or not _is_allowed(run, call, thread, what, anew=True):
            return result_of(call, INTERRUPTED)
    elif what and not _is_allowed(run, call, thread, what, anew=False):
        return denied(call)
    run.journal.note("tool", thread=thread, call=call.id, name=call.name)
    run.publisher.publish(state="tool", why=call.name)
    result = start(call) if call.name == TASK else run.tools.run(call, run.is_stopped)
    return cut(result, run.plan.limits.max_output)


def _is_allowed(run: Run, call: ToolCall, thread: str, what: Question, *, anew: bool) -> bool:
    """Is the call allowed? The user is not asked if the plan or an earlier "always" decides it."""
    covers = run.tools.covered_by_always(call)
    if not anew:
        if covers in run.allowed or run.plan.permissions == "always":
            return True
        if run.plan.permissions == "never":
            return False
    permission = Permission(uuid4().hex, call, what)
    run.ask(permission.id)
    run.publisher.publish(state="asking", why=call.name, asked=permission)
    try:
        how: Permit = run.reply()
    finally:
        run.publisher.publish(state="tool", why=call.name, asked=None)
    run.journal.note(
        "permission", thread=thread, call=call.id, tool=call.name, covers=covers, answer=how
    )
    if how == "always":
        run.allowed.add(covers)
    return how != "no"


def _prompt(call: ToolCall) -> str:
    prompt = call.arguments.get("prompt") if isinstance(call.arguments, Mapping) else None
    return prompt if isinstance(prompt, str) else ""


def cut(message: Message, limit: int) -> Message:
    """Return the result with at most `limit` characters of text: its beginning, the number left out, and its end."""
    result = message.result
    if result is None or len(result.content) <= limit:
        return message
    half = max(1, limit // 2)
    left = len(result.content) - 2 * half
    text = f"{result.content[:half]}\n[... {left:,} characters are left out here ...]\n{result.content[-half:]}"
    parts = tuple(replace(part, content=text) if part is result else part for part in message.parts)
    return replace(message, parts=parts)


def open_calls(buffer: Buffer) -> tuple[ToolCall, ...]:
    """Return the calls of the last answer that have no result, in order."""
    answered = set[str]()
    calls = list[ToolCall]()
    for message in reversed(buffer.messages):
        if message.role not in ("assistant", "tool"):
            break
        if message.result is not None:
            answered.add(message.result.call_id)
        calls += reversed([call for call in message.calls if call.id not in answered])
    return tuple(reversed(calls))
