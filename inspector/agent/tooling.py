"""The tool calls of one answer, one after the other: asked about where they must be, run, cut to size, journalled."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from uuid import uuid4

from inspector.agent.run import Run
from inspector.agent.status import Permission, Permit
from inspector.agent.tools.common import Question
from inspector.agent.tools.schemas import TASK
from inspector.agent.tools.toolbox import denied, result_of
from inspector.core.buffer import Buffer
from inspector.core.message import Message, ToolCall

INTERRUPTED = (
    "The program was ended while this call ran: whether it was done, and how far, is not known. Look before you do it "
    "again."
)


def run_call(run: Run, call: ToolCall, thread: str, begun: bool, start: Callable[[ToolCall], Message]) -> Message:
    """The result of one call. `begun`: it had begun before the program was ended. `start` starts a sub-agent.

    Raises RunStopped.
    """
    what = run.tools.needs_permission(call)
    if begun and (what or call.name == TASK):
        what = what or Question("Start the sub-agent once more, with this task:", _prompt(call))
        what = replace(what, says=f"{INTERRUPTED}\n\n{what.says}")
        if run.plan.permissions != "ask" or not _may(run, call, thread, what, anew=True):
            return result_of(call, INTERRUPTED)
    elif what and not _may(run, call, thread, what, anew=False):
        return denied(call)
    run.journal.note("tool", thread=thread, call=call.id, name=call.name)
    run.publisher.publish(state="tool", why=call.name)
    found = start(call) if call.name == TASK else run.tools.run(call, run.is_stopped)
    return cut(found, run.plan.limits.max_output)


def _may(run: Run, call: ToolCall, thread: str, what: Question, *, anew: bool) -> bool:
    """May it be done? What was allowed once and for all, or is by the plan, is not asked again."""
    covers = run.tools.covered_by_always(call)
    if not anew:
        if covers in run.allowed or run.plan.permissions == "always":
            return True
        if run.plan.permissions == "never":
            return False
    asked = Permission(uuid4().hex, call, what)
    run.ask(asked.id)
    run.publisher.publish(state="asking", why=call.name, asked=asked)
    try:
        how: Permit = run.reply()
    finally:
        run.publisher.publish(state="tool", why=call.name, asked=None)
    run.journal.note("permission", thread=thread, call=call.id, tool=call.name, covers=covers, answer=how)
    if how == "always":
        run.allowed.add(covers)
    return how != "no"


def _prompt(call: ToolCall) -> str:
    given = call.arguments.get("prompt") if isinstance(call.arguments, Mapping) else None
    return given if isinstance(given, str) else ""


def cut(message: Message, limit: int) -> Message:
    """The result with at most `limit` characters of text: its head and its tail, and how much is left out between."""
    result = message.result
    if result is None or len(result.content) <= limit:
        return message
    half = max(1, limit // 2)
    left = len(result.content) - 2 * half
    text = f"{result.content[:half]}\n[... {left:,} characters are left out here ...]\n{result.content[-half:]}"
    parts = tuple(replace(part, content=text) if part is result else part for part in message.parts)
    return replace(message, parts=parts)


def open_calls(buffer: Buffer) -> tuple[ToolCall, ...]:
    """The calls of the last answer that have no result, in order."""
    answered, calls = set[str](), list[ToolCall]()
    for message in reversed(buffer.messages):
        if message.role not in ("assistant", "tool"):
            break
        if message.result is not None:
            answered.add(message.result.call_id)
        calls += reversed([call for call in message.calls if call.id not in answered])
    return tuple(reversed(calls))
