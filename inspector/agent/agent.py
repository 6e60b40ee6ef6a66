"""One thread of a run: turn after turn until the model stops, watched at every step.

It drives the policy's turn, meets its needs, and pauses it where the person wants. A sub-agent is another one of these,
with a buffer of its own, inside a tool call of the first.
"""

from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from inspector.agent import calling, needing, pausing
from inspector.agent.run import Run, model_of
from inspector.agent.standing import End, TurnReport
from inspector.agent.tooling import result_of, run_call
from inspector.agent.tools.arguments import checked
from inspector.agent.tools.prompt import prompt
from inspector.agent.tools.refused import Refused
from inspector.agent.weighing import Weighing
from inspector.core.buffer import Buffer
from inspector.core.message import Message, Text, ToolCall
from inspector.core.needs import Answer, AskModel, Failure, Need, RunTools, drive
from inspector.core.outcome import Outcome
from inspector.core.policies.turn import TurnContext, TurnResult
from inspector.core.policies.verdict import PolicyInput, Verdict
from inspector.core.tokens.pressure import Pressure

MAIN = "main"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a thread came to its end; `text` is the last the model said."""

    why: End
    text: str = ""
    error: str = ""


class Agent:
    """A `Watch` of its own turns."""

    def __init__(self, run: Run, thread: str, buffer: Buffer, running: Any, turn: int = 0) -> None:
        self.run, self.thread, self.turn = run, thread, turn
        self.context: TurnContext[Any] = TurnContext(buffer, running)
        self.results: list[Message] = []
        """Of the answer that stands last in the buffer, and not in the buffer yet."""
        self.waiting: tuple[ToolCall, ...] = ()
        self.edited = False
        """The person has put in a buffer that was not sent yet."""
        self.begun: frozenset[str] = frozenset()
        self.last: Answer | None = None
        self.passed: float | None = None
        self.weighing = Weighing()
        self._sizes = (0, 0)
        self._expected = Pressure(None, "unknown", 0, 0)
        self._called = 0.0

    # what stands

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the thread holds, with results that the turn has not taken over yet."""
        standing = self.context.buffer.messages
        if not self.results:
            return standing
        taken = {message.id for message in standing}
        return (*standing, *(message for message in self.results if message.id not in taken))

    def measured(self) -> tuple[int, int]:
        """(raw, calibrated) tokens of what the thread holds, as the policy measures."""
        return self.run.policy.measure(self._buffer(), self.run.settings, self.context.running)

    def pressure(self) -> Pressure:
        """What the next prompt would come to."""
        return self.weighing(self._buffer())

    def _buffer(self) -> Buffer:
        return self.context.buffer.with_messages(self.messages) if self.results else self.context.buffer

    def say(self, **changes: Any) -> None:
        """How the run stands, with what this thread holds."""
        buffer = self._buffer()
        about = {"thread": self.thread, "turn": self.turn, "buffer": buffer, "running": self.context.running}
        self.run.voice.say(**about, **_size(self.weighing(buffer), self.measured()[1]), calls=self.waiting, **changes)

    def write_running(self) -> None:
        """Into the journal."""
        self.run.journal.running(self.thread, self.turn, self.run.policy.dump(self.context.running))

    # turn after turn

    def live(self) -> Ended:
        """Until the model stops, or something else ends it. Raises Stopped, InspectorError."""
        if self.waiting:
            self._finish_turn()
        start = self.turn
        while self.turn - start < self.run.plan.limits.max_turns:
            turn = self._turn()
            if turn.error:
                return Ended("error", error=pausing.explained(turn.error, self.context.buffer))
            if turn.done:
                return Ended("done", turn.answer.text if turn.answer is not None else "")
        return Ended("max turns", self.last.text if self.last is not None else "")

    def _turn(self) -> TurnResult[Any]:
        self.context = TurnContext(self.context.buffer, self.context.running, self)
        conversation = self.run.policy.turn(self.context, self.run.settings, self._moment())
        turn = drive(conversation, self._answer)
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
        """The calls that were left open when the program was ended, and what the policy does behind a turn."""
        self.context = TurnContext(self.context.buffer, self.context.running, self)
        self.context.add(self._tools(self.waiting))
        self.results.clear()
        moment, run = self._moment(), self.run
        behind = run.policy.after_turn(self.context.buffer, run.settings, self.context.running, moment)
        self.context.apply(*drive(behind, self._answer))
        self._settle()

    def _moment(self) -> PolicyInput:
        plan, last = self.run.plan, self.last
        return PolicyInput(
            step=self.turn,
            model=model_of(plan),
            usage=last.usage if last is not None else None,
            finish=last.finish if last is not None else "",
            summary=self.run.tools.peek(plan.memory) if plan.memory and self.thread == MAIN else "",
            remote=self.run.remote,
            max_tokens=plan.max_tokens,
            agent="" if self.thread == MAIN else self.thread,
            idle_s=monotonic() - self._called if self._called else None,
        )

    def _report(self, turn: TurnResult[Any]) -> None:
        answer, run = turn.answer, self.run
        run.reports += 1
        usage = answer.usage if answer is not None else None
        report = TurnReport(
            number=run.reports,
            turn=self.turn - 1,
            thread=self.thread,
            reported=usage.prompt if usage is not None else None,
            estimated=self._sizes[0],
            calibrated=self._sizes[1],
            expected=self._expected,
            output=usage.output if usage is not None else None,
            window=run.window,
            fired=tuple(one.tier for one in turn.outcomes if one.events or one.changed),
            tools=tuple(call.name for message in answer.messages for call in message.calls) if answer else (),
            finish=answer.finish if answer is not None else "",
            text=answer.text if answer is not None else "",
            error=turn.error,
        )
        self.say(report=report)

    # needs

    def _answer(self, need: Need) -> Answer:
        match need:
            case AskModel():
                return self._ask(need)
            case RunTools(calls):
                return Answer(messages=self._tools(calls), by="tools")
            case _:
                return needing.meet(self.run, self.thread, need, self.context.buffer)

    def _ask(self, need: AskModel) -> Answer:
        while True:
            try:
                answer = calling.ask(self.run, self.thread, need, self.context.buffer, self._write_request)
            except Failure as failure:
                if not pausing.at_failure(self, failure):
                    raise
                self._before_send()
                continue
            self._called, self.last = monotonic(), answer
            self.weighing.answered(self.context.buffer, answer.usage, model_of(self.run.plan))
            self.run.journal.answer(self.thread, answer)
            self.run.controls.done("model")
            return answer

    def _write_request(self) -> None:
        about = {"turn": self.turn, "estimated": self._sizes[0], "calibrated": self._sizes[1]}
        self.run.journal.request(self.thread, model=model_of(self.run.plan), **about)

    def _tools(self, calls: tuple[ToolCall, ...]) -> tuple[Message, ...]:
        """The results that are not in the buffer yet, in order. What the person took out of the buffer is not run."""
        self.waiting = calls
        self.say(state="tool", why="")
        while self.waiting:
            call = self.waiting[0]
            pausing.at_tool(self, call)
            if any(one.id == call.id for message in self.context.buffer.messages for one in message.calls):
                started = run_call(self.run, call, self.thread, call.id in self.begun, self._start)
                self.results.append(self._named(started))
                self.run.journal.sync(self.thread, self.messages)
            self.waiting = self.waiting[1:]
            self.run.controls.done("tool")
            self.say(state="tool", why="")
        return tuple(self.results)

    def _start(self, call: ToolCall) -> Message:
        """A sub-agent: a buffer and a thread of its own; only its last words come back. It starts none itself."""
        if self.thread != MAIN:
            return self.run.tools.run(call)
        try:
            arguments = checked(call)
        except Refused as why:
            return result_of(call, str(why), True)
        run, name, n = self.run, call.id, 2
        while run.journal.has(name):
            name, n = f"{call.id}.{n}", n + 1
        task = Message(f"{name}.task", "user", (Text(arguments["prompt"]),))
        buffer = Buffer((task,), prompt(run.tools.folder, sub_agent=True))
        title = arguments.get("description") or " ".join(arguments["prompt"].split())[:60]
        run.journal.thread(name, buffer, title=title, parent=MAIN, parent_call=call.id)
        ended = Agent(run, name, buffer, run.policy.fresh(run.settings)).live()
        told = ended.error or ended.text or "(the sub-agent said nothing)"
        if ended.why == "max turns":
            told = f"The sub-agent was ended after {run.plan.limits.max_turns} turns. Its last words: {told}"
        return result_of(call, told, ended.why != "done")

    def _named(self, result: Message) -> Message:
        """With an id that no other message of the thread has: some servers give all calls the same."""
        taken = {message.id for message in self.messages}
        name, n = result.id, 2
        while name in taken:
            name, n = f"{result.id}.{n}", n + 1
        return result if name == result.id else replace(result, id=name)

    # the watch

    def before_tier(self, context: TurnContext[Any], verdict: Verdict) -> None:
        """See `core.policies.turn`."""
        self.run.controls.check()
        self.run.journal.sync(self.thread, self.messages)
        pausing.at_tier(self, verdict)
        self.say(state="tier", why=f"{verdict.tier}: {verdict.why}")

    def outcome(self, context: TurnContext[Any], outcome: Outcome[Any]) -> None:
        """See `core.policies.turn`."""
        run, thread = self.run, self.thread
        run.journal.sync(thread, self.messages)
        changed = outcome.buffer.messages != context.buffer.messages
        if not (changed or outcome.events or outcome.error):
            return
        before, after = self.weighing(context.buffer), self.weighing(outcome.buffer)
        run.journal.tier(thread, outcome, before.tokens or 0, after.tokens or 0)
        run.journal.running(thread, self.turn, run.policy.dump(outcome.running))
        believed = run.policy.measure(outcome.buffer, run.settings, outcome.running)[1]
        about = {"buffer": outcome.buffer, "running": outcome.running, **_size(after, believed)}
        run.voice.say(state="tier", why=outcome.tier, **about)

    def before_call(self, context: TurnContext[Any]) -> None:
        """See `core.policies.turn`."""
        self.results.clear()
        self.waiting = ()
        self.run.journal.sync(self.thread, self.messages)
        pausing.at_request(self)
        self._before_send()

    def _before_send(self) -> None:
        if self.edited:
            pausing.mend(self)
        self._sizes, self._expected = self.measured(), self.pressure()
        self.say(state="calling", why="", stop="", verdict=None)

    def before_tools(self, context: TurnContext[Any], calls: tuple[ToolCall, ...]) -> None:
        """See `core.policies.turn`."""
        self.results.clear()
        self.run.journal.sync(self.thread, self.messages)


def _size(pressure: Pressure, believed: int) -> dict[str, Any]:
    return {"tokens": pressure.tokens or 0, "kind": pressure.kind, "believed": believed}
