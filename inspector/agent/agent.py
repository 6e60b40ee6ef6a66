"""One thread of a run: it takes turn after turn until the model stops, and can be observed at every step.

It runs the policy's turn, answers its needs, and pauses when the user wants. A sub-agent is another such thread with a
separate buffer, which runs inside a tool call of the first.
"""

from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from inspector.agent import asking
from inspector.agent.asking import run_call
from inspector.agent.run import MAIN, Run, plan_model
from inspector.agent.status import ANY, End, Replacement, Stop, TurnReport
from inspector.agent.tools.common import ToolError
from inspector.agent.tools.toolbox import checked, prompt, result_of
from inspector.core.buffer import Buffer, Stretch, View
from inspector.core.message import Message, Text, ToolCall
from inspector.core.needs import (
    Answer,
    AskModel,
    ContextWindowExceeded,
    Failure,
    Need,
    RunTools,
    drive,
)
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.place import moment_at
from inspector.core.policies.turn import TurnContext, TurnResult
from inspector.core.policies.verdict import Verdict
from inspector.core.session import Request, Thread
from inspector.core.tokens.pressure import Pressure, Pressures, thread_pressures
from inspector.core.validity import TIER as REPAIR
from inspector.core.validity import find_refusals, repair
from inspector.core.words import per_cent

BY_HAND = "by hand"
PAIRS = ("result-without-call", "call-without-result")
"""Rules that a policy may violate in faithful mode; `repair` fixes the violations."""


@dataclass(frozen=True, slots=True)
class ThreadEnd:
    """How a thread ended; `text` is the last text of the model."""

    why: End
    text: str = ""
    error: str = ""


class AgentThread:
    """Runs one thread and observes its own turns (`core.policies.turn`)."""

    def __init__(self, run: Run, thread: str, buffer: Buffer, running: Any, turn: int = 0) -> None:
        self.run = run
        self.thread = thread
        self.turn = turn
        self.context: TurnContext[Any, Any] = TurnContext(
            PolicyContext(buffer, run.settings, running, window=run.window)
        )
        self.results: list[Message] = []
        """Tool results for the last answer in the buffer that are not in the buffer yet."""
        self.waiting: tuple[ToolCall, ...] = ()
        self.edited = False
        """True if the user has replaced the buffer and it was not sent since."""
        self.begun: frozenset[str] = frozenset()
        self.last: Answer | None = None
        self.passed: float | None = None
        """The watermark at which the thread paused; None if the buffer has been below the breakpoint since."""
        self.sizer = BufferSizer()
        self._sizes = (0, 0)
        self._expected = Pressure(tokens=None, kind="unknown", counted=0, reported=0)
        self._called = 0.0

    # contents

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the thread's messages, including results that the turn has not added to the buffer yet."""
        standing = self.context.buffer.messages
        if not self.results:
            return standing
        used_ids = {message.id for message in standing}
        return (*standing, *(message for message in self.results if message.id not in used_ids))

    def believed(self) -> int:
        """Return the tokens of the thread's messages by the policy's own count."""
        return self.run.policy.believed(self.context.now.with_buffer(self._buffer()))

    def pressure(self) -> Pressure:
        """Return the predicted size of the next prompt."""
        return self.sizer(self._buffer())

    def _buffer(self) -> Buffer:
        if self.results:
            return self.context.buffer.with_messages(self.messages)
        return self.context.buffer

    def publish(self, **changes: Any) -> None:
        """Publish the run's status with the current contents of this thread."""
        buffer = self._buffer()
        believed = self.believed()
        self.run.publisher.publish(
            thread=self.thread,
            turn=self.turn,
            buffer=buffer,
            running=self.context.running,
            calls=self.waiting,
            **_size(self.sizer(buffer), believed),
            **changes,
        )

    def write_running(self) -> None:
        self.run.journal.running(self.thread, self.turn, self.run.policy.dump(self.context.running))

    # turns

    def live(self) -> ThreadEnd:
        """Take turns until the model stops or something else ends the thread. Raises RunStopped, InspectorError."""
        if self.waiting:
            self._finish_turn()
        start = self.turn
        while self.turn - start < self.run.plan.limits.max_turns:
            turn = self._turn()
            if turn.error:
                return ThreadEnd("error", error=_explain_failure(turn.error, self.context.buffer))
            if turn.done:
                return ThreadEnd("done", turn.answer.text if turn.answer is not None else "")
        return ThreadEnd("max turns", self.last.text if self.last is not None else "")

    def _turn(self) -> TurnResult[Any]:
        self.context = TurnContext(self._moment_of_turn(), self)
        turn = drive(self.run.policy.turn(self.context), self._answer)
        self.turn += 1
        self.results.clear()
        self.waiting = ()
        self._settle()
        self._report(turn)
        return turn

    def _settle(self) -> None:
        self.run.journal.sync(self.thread, self.messages)
        self.write_running()

    def _finish_turn(self) -> None:
        """Run the tool calls that were open when the program ended, and the policy's steps after that turn."""
        self.context = TurnContext(self._moment_of_turn(), self)
        self.context.add(self._tools(self.waiting))
        self.results.clear()
        self.context.apply(*drive(self.run.policy.after_turn(self.context.now), self._answer))
        self._settle()

    def _moment_of_turn(self) -> PolicyContext[Any, Any]:
        """Return what the policy knows when a turn begins."""
        plan = self.run.plan
        sent = self.sizer.thread(self.context.buffer)
        moment = moment_at(sent, len(sent.requests))
        moment = replace(moment, step=self.turn, model=plan_model(plan), remote=self.run.remote)
        is_main = self.thread == MAIN
        summary = self.run.tools.peek(plan.memory) if plan.memory and is_main else ""
        agent = "" if is_main else self.thread
        idle_s = monotonic() - self._called if self._called else None
        moment = replace(
            moment, summary=summary, max_tokens=plan.max_tokens, agent=agent, idle_s=idle_s
        )
        return replace(self.context.now, moment=moment)

    def _report(self, turn: TurnResult[Any]) -> None:
        run = self.run
        estimated, calibrated = self._sizes
        run.reports += 1
        answer = turn.answer or Answer()
        usage = answer.usage
        fired = tuple(
            outcome.tier for outcome in turn.outcomes if outcome.events or outcome.changed
        )
        tools = tuple(call.name for message in answer.messages for call in message.calls)
        reported = usage.prompt if usage is not None else None
        output = usage.output if usage is not None else None
        report = TurnReport(
            run.reports,
            turn=self.turn - 1,
            thread=self.thread,
            reported=reported,
            estimated=estimated,
            calibrated=calibrated,
            expected=self._expected,
            output=output,
            window=run.window,
            fired=fired,
            tools=tools,
            finish=answer.finish,
            text=answer.text,
            error=turn.error,
        )
        self.publish(report=report)

    # needs

    def _answer(self, need: Need) -> Answer:
        match need:
            case AskModel():
                return self._ask(need)
            case RunTools(calls):
                return Answer(messages=self._tools(calls), by="tools")
            case _:
                return asking.meet(self.run, self.thread, need, self.context.buffer)

    def _ask(self, need: AskModel) -> Answer:
        def write() -> None:
            estimated, calibrated = self._sizes
            about = {"turn": self.turn, "estimated": estimated, "calibrated": calibrated}
            self.run.journal.request(self.thread, model=plan_model(self.run.plan), **about)

        while True:
            try:
                answer = asking.ask_model(self.run, self.thread, need, self.context.buffer, write)
            except Failure as failure:
                if not self._pause_at_failure(failure):
                    raise
                self._before_send()
                continue
            self._called = monotonic()
            self.last = answer
            self.sizer.answered(self.context.buffer, answer, plan_model(self.run.plan))
            self.run.journal.answer(self.thread, answer)
            self.run.done("model")
            return answer

    def _tools(self, calls: tuple[ToolCall, ...]) -> tuple[Message, ...]:
        """Run the open tool calls and return their results in order. Calls that the user removed from the buffer are
        not run.

        Raises RunStopped.
        """
        self.waiting = calls
        self.publish(state="tool", why="")
        while self.waiting:
            call = self.waiting[0]
            stop = self.run.reason() or (
                "tool" if self.run.breakpoints.tools & {ANY, call.name} else ""
            )
            if stop:
                self._pause(stop, f"{call.name} is about to run.")
            if any(
                open_call.id == call.id
                for message in self.context.buffer.messages
                for open_call in message.calls
            ):
                started = run_call(
                    self.run, call, self.thread, begun=call.id in self.begun, start=self._start
                )
                self.results.append(self._with_unique_id(started))
                self.run.journal.sync(self.thread, self.messages)
            self.waiting = self.waiting[1:]
            self.run.done("tool")
            self.publish(state="tool", why="")
        return tuple(self.results)

    def _start(self, call: ToolCall) -> Message:
        """Run a sub-agent with a separate buffer and thread, and return its last text. A sub-agent cannot start
        another.
        """
        if self.thread != MAIN:
            return self.run.tools.run(call)
        try:
            arguments = checked(call)
        except ToolError as why:
            return result_of(call, str(why))
        run = self.run
        name = call.id
        number = 2
        while run.journal.has(name):
            name = f"{call.id}.{number}"
            number += 1
        task = Message(f"{name}.task", "user", (Text(arguments["prompt"]),))
        buffer = Buffer((task,), prompt(run.tools.folder, sub_agent=True))
        title = arguments.get("description") or " ".join(arguments["prompt"].split())[:60]
        run.journal.thread(name, buffer, title=title, parent=MAIN, parent_call=call.id)
        ended = AgentThread(
            run, thread=name, buffer=buffer, running=run.policy.fresh(run.settings)
        ).live()
        words = ended.error or ended.text or "(the sub-agent said nothing)"
        if ended.why == "max turns":
            words = f"The sub-agent was ended after {run.plan.limits.max_turns} turns. Its last words: {words}"
        return result_of(call, words, ended.why != "done")

    def _with_unique_id(self, result: Message) -> Message:
        """Return the result with an id that is unique in the thread: some servers give all calls the same id."""
        used_ids = {message.id for message in self.messages}
        name = result.id
        number = 2
        while name in used_ids:
            name = f"{result.id}.{number}"
            number += 1
        return result if name == result.id else replace(result, id=name)

    # pauses

    def _pause(self, stop: Stop, why: str, verdict: Verdict | None = None, error: str = "") -> bool:
        """Pause until the user resumes. Return whether the buffer was replaced. Raises RunStopped."""
        run = self.run
        replaced = False
        before = self.run.publisher.status.state
        run.begin_pause()
        self.publish(state="paused", stop=stop, why=why, verdict=verdict, error=error)
        while (wish := run.next_wish()) is not None:
            self._put(wish)
            replaced = True
            self.publish()
        self.publish(state=before, stop="", why="", verdict=None, error="")
        return replaced

    def _put(self, wish: Replacement) -> None:
        """Replace the messages of the paused thread; its prompt is kept. Open calls are then looked up in the new
        buffer.
        """
        before = {message.id: message for message in self.messages}
        after = {message.id: message for message in wish.buffer.messages}
        fates = {key: "dropped" for key in before if key not in after}
        fates |= {
            key: "replaced"
            for key, message in after.items()
            if key in before and message != before[key]
        }
        self.results.clear()
        self.context.buffer = Buffer(wish.buffer.messages, self.context.buffer.prompt)
        self.edited = True
        self.run.journal.edit(self.thread, BY_HAND, wish.buffer.messages, fates)
        if wish.running is not None:
            self.context.running = wish.running
            self.write_running()

    def _pause_at_request(self) -> None:
        """Pause before a model call if a breakpoint says so. Raises RunStopped."""
        run = self.run
        tokens = self.pressure().tokens or 0
        points = run.breakpoints
        ratio = tokens / run.window if run.window else 0.0
        is_reached = points.watermark is not None and ratio >= points.watermark
        is_new = is_reached and self.passed != points.watermark
        stop = run.reason()
        if not stop and points.requests:
            stop = "request"
        elif not stop and is_new:
            stop = "watermark"
        self.passed = points.watermark if is_reached else None
        if stop:
            share = f" ({per_cent(ratio, places=1)} of {run.window:,})" if run.window else ""
            self._pause(stop, f"The model is about to be asked with {tokens:,} tokens{share}.")

    def _pause_at_failure(self, failure: Failure) -> bool:
        """Pause if a breakpoint stops at a failed model call. Return whether to repeat the call. Raises RunStopped."""
        points = self.run.breakpoints
        error = asking.sentence(failure)
        if isinstance(failure, ContextWindowExceeded):
            stop = self.run.reason() or ("overflow" if points.overflow else "")
            return bool(stop) and self._pause(
                stop, why="The model refused the buffer as too long.", error=error
            )
        if points.errors:
            self._pause(
                "error", why="The model call failed; if you resume, it is retried.", error=error
            )
            return True
        return False

    def _repair_buffer(self) -> None:
        """Repair a buffer that the user made, so that calls and results pair up as every provider requires."""
        self.edited = False
        mended = repair(self.context.buffer, self.context.running)
        if mended.buffer is not self.context.buffer:
            self.context.buffer = mended.buffer
            self.run.journal.edit(self.thread, REPAIR, mended.buffer.messages, mended.changed)

    # observer of the turn

    def before_tier(self, context: TurnContext[Any, Any], verdict: Verdict) -> None:
        self.run.check()
        self.run.journal.sync(self.thread, self.messages)
        stop = self.run.reason() or (
            "tier" if self.run.breakpoints.tiers & {ANY, verdict.tier} else ""
        )
        if stop:
            self._pause(stop, f"{verdict.tier} is about to fire: {verdict.why}", verdict)
        self.publish(state="tier", why=f"{verdict.tier}: {verdict.why}")

    def outcome(self, context: TurnContext[Any, Any], outcome: Outcome[Any]) -> None:
        run = self.run
        thread = self.thread
        run.journal.sync(thread, self.messages)
        changed = outcome.buffer.messages != context.buffer.messages
        if not (changed or outcome.events or outcome.error):
            return
        before, after = self.sizer(context.buffer), self.sizer(outcome.buffer)
        run.journal.tier(thread, outcome, before.tokens or 0, after.tokens or 0)
        run.journal.running(thread, self.turn, run.policy.dump(outcome.running))
        believed = run.policy.believed(context.now.after(outcome))
        about = {"buffer": outcome.buffer, "running": outcome.running, **_size(after, believed)}
        run.publisher.publish(state="tier", why=outcome.tier, **about)

    def before_call(self, context: TurnContext[Any, Any]) -> None:
        self.results.clear()
        self.waiting = ()
        self.run.journal.sync(self.thread, self.messages)
        self._pause_at_request()
        self._before_send()

    def _before_send(self) -> None:
        if self.edited:
            self._repair_buffer()
        raw, _ = self.run.policy.measure(self.context.now)
        self._sizes, self._expected = (raw, self.believed()), self.pressure()
        self.publish(state="calling", why="", stop="", verdict=None)

    def before_tools(self, context: TurnContext[Any, Any], calls: tuple[ToolCall, ...]) -> None:
        self.results.clear()
        self.run.journal.sync(self.thread, self.messages)


def _size(pressure: Pressure, believed: int) -> dict[str, Any]:
    return {"tokens": pressure.tokens or 0, "kind": pressure.kind, "believed": believed}


def _explain_failure(error: str, buffer: Buffer) -> str:
    """Return the error of a model call; if the buffer breaks a provider's rule, add that."""
    broken = next((problem for problem in find_refusals(buffer) if problem.rule in PAIRS), None)
    if broken is None:
        return error
    return (
        f"{error} (The policy left an invalid buffer: {broken.why} With mode=safe it would not; resuming the "
        "run repairs the buffer.)"
    )


class BufferSizer:
    """Computes the size of one thread's buffer, starting empty or from a recorded thread (`recorded`)."""

    def __init__(self, recorded: Thread | None = None) -> None:
        self._thread = recorded or Thread("")
        self._requests = list(self._thread.requests)
        self._view = Stretch(base=self._thread.end).view()
        self._pressures: Pressures | None = None

    def __call__(self, buffer: Buffer) -> Pressure:
        """Return the predicted size of the next prompt if that buffer were sent. O(messages).

        Before the first report the size is an estimate.
        """
        self._pressures = thread_pressures(self.thread(buffer), former=self._pressures)
        return self._pressures.end

    def thread(self, buffer: Buffer) -> Thread:
        """Return the requests sent so far, as a thread that ends with that buffer. O(messages)."""
        self._view = _extend_view(self._view, buffer.messages)
        return replace(
            self._thread, requests=tuple(self._requests), end=self._view, prompt=buffer.prompt
        )

    def answered(self, buffer: Buffer, answer: Answer, model: str) -> None:
        """Record that a buffer was sent and answered."""
        self._view = _extend_view(self._view, buffer.messages)
        request = Request(
            len(self._requests),
            self._view,
            buffer.prompt,
            answer.usage,
            model,
            finish=answer.finish,
        )
        self._requests.append(request)


def _extend_view(view: View, messages: tuple[Message, ...]) -> View:
    """Return the messages as a view that shares its beginning with the previous view."""
    former = view.messages()
    same = 0
    for old, new in zip(former, messages, strict=False):
        if old is not new and old != new:
            break
        same += 1
    if same == len(former) == len(view.stretch):
        view.stretch.append(*messages[same:])
        return view.stretch.view()
    return Stretch(base=View(view.stretch, same), own=messages[same:]).view()
