"""Where a thread pauses, and what may be done to it then: look, put another buffer in, go on."""

from typing import Any, Protocol

from inspector.agent.calling import told
from inspector.agent.controls import Replace
from inspector.agent.run import Run
from inspector.agent.standing import Stop
from inspector.core.buffer import Buffer
from inspector.core.message import Message, ToolCall
from inspector.core.needs import ContextWindowExceeded, Failure
from inspector.core.policies.turn import TurnContext
from inspector.core.policies.verdict import Verdict
from inspector.core.tokens.pressure import Pressure
from inspector.core.validity import TIER as REPAIR
from inspector.core.validity import check, repair

BY_HAND = "by hand"
PAIRS = ("result-without-call", "call-without-result")
"""Rules that a policy breaks in faithful mode, and `repair` mends."""


class Pausable(Protocol):
    """A thread, as far as pausing needs it."""

    run: Run
    thread: str
    context: TurnContext[Any]
    results: list[Message]
    edited: bool
    passed: float | None
    """The watermark at which it has paused since the buffer was last below it."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """What it holds."""
        ...

    def pressure(self) -> Pressure:
        """What the next prompt would come to."""
        ...

    def say(self, **changes: Any) -> None:
        """Tell how it stands."""
        ...

    def write_running(self) -> None:
        """Into the journal."""
        ...


def hold(thread: Pausable, stop: Stop, why: str, verdict: Verdict | None = None, error: str = "") -> bool:
    """Pause until the person says go on; has another buffer been put in? Raises Stopped."""
    controls, replaced, before = thread.run.controls, False, thread.run.voice.standing.state
    controls.begin_pause()
    thread.say(state="paused", stop=stop, why=why, verdict=verdict, error=error)
    while (wish := controls.next_wish()) is not None:
        _put(thread, wish)
        replaced = True
        thread.say()
    thread.say(state=before, stop="", why="", verdict=None, error="")
    return replaced


def _put(thread: Pausable, wish: Replace) -> None:
    """The prompt stays the thread's own. What runs behind the buffer (open calls) is looked up in the new one."""
    before = {message.id: message for message in thread.messages}
    after = {message.id: message for message in wish.buffer.messages}
    fates = {key: "dropped" for key in before if key not in after}
    fates |= {key: "replaced" for key, message in after.items() if key in before and message != before[key]}
    thread.results.clear()
    thread.context.buffer = Buffer(wish.buffer.messages, thread.context.buffer.prompt)
    thread.edited = True
    thread.run.journal.edit(thread.thread, BY_HAND, wish.buffer.messages, fates)
    if wish.running is not None:
        thread.context.running = wish.running
        thread.write_running()


def at_tier(thread: Pausable, verdict: Verdict) -> None:
    """A tier is about to fire. Raises Stopped."""
    stop = thread.run.controls.reason() or ("tier" if thread.run.controls.breakpoints.on_tier(verdict.tier) else "")
    if stop:
        hold(thread, stop, f"{verdict.tier} is about to fire: {verdict.why}", verdict)


def at_request(thread: Pausable) -> None:
    """The model is about to be asked. Raises Stopped."""
    run, tokens = thread.run, thread.pressure().tokens or 0
    points, ratio = run.controls.breakpoints, tokens / run.window if run.window else 0.0
    reached = points.watermark is not None and ratio >= points.watermark
    if not reached:
        thread.passed = None
    new = reached and thread.passed != points.watermark
    stop = run.controls.reason() or ("request" if points.requests else "watermark" if new else "")
    if reached:
        thread.passed = points.watermark
    if stop:
        share = f" ({ratio:.1%} of {run.window:,})" if run.window else ""
        hold(thread, stop, f"The model is about to be asked with {tokens:,} tokens{share}.")


def at_tool(thread: Pausable, call: ToolCall) -> None:
    """A tool call is about to be run. Raises Stopped."""
    stop = thread.run.controls.reason() or ("tool" if thread.run.controls.breakpoints.on_tool(call.name) else "")
    if stop:
        hold(thread, stop, f"{call.name} is about to run.")


def at_failure(thread: Pausable, failure: Failure) -> bool:
    """A model call has failed for good: is it to be made again? Raises Stopped."""
    points, error = thread.run.controls.breakpoints, told(failure)
    if isinstance(failure, ContextWindowExceeded):
        stop = thread.run.controls.reason() or ("overflow" if points.overflow else "")
        return bool(stop) and hold(thread, stop, "The model has refused the buffer as too long.", None, error)
    if points.errors:
        hold(thread, "error", "The model call has failed; going on asks again.", None, error)
        return True
    return False


def mend(thread: Pausable) -> None:
    """A buffer that was made by hand, as every provider takes it: calls and results pair up."""
    thread.edited = False
    mended = repair(thread.context.buffer, thread.context.running)
    if mended.buffer is not thread.context.buffer:
        thread.context.buffer = mended.buffer
        thread.run.journal.edit(thread.thread, REPAIR, mended.buffer.messages, mended.changed)


def explained(error: str, buffer: Buffer) -> str:
    """What a model call failed of; where the buffer is one that providers refuse, that as well."""
    broken = next((one for one in check(buffer) if one.rule in PAIRS), None)
    if broken is None:
        return error
    return f"{error} (The policy left the buffer so: {broken.why} Its mode=safe does not; resuming the run repairs it.)"
