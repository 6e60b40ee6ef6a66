"""A policy driven over a whole recorded session: what its buffer would have been at every request.

The recording gives the messages: what the user typed, what the model answered, what the tools said. Each comes once.
Summaries that the recorded harness wrote stay out, and so does what its client attached anew after one: a policy that
is driven over the session makes its own. (One that the file begins with stays: what it stands for is not there.)
Answers that a recorded compaction swallowed before any request showed them are there. A rewind or an edit in the
recording is passed on, a recorded compaction is not.

The policy gives what is done with them. It gets the reports that it gets in use: after each call what the provider
would have reported, which is what it did report where the buffer is the recorded one, else the size as
`costs.Sizes` works it out. Where the recording reports nothing, nothing is reported to the policy. Nothing is written,
and a file reads as the session last read it.

A buffer larger than the window is refused: the policy takes its step after an overflow, once, and then it is sent.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.answering import AnsweredNeed, Answerer, AnswerLog, rehearsed
from inspector.core.arrivals import Arrival, arrivals
from inspector.core.buffer import Buffer
from inspector.core.facts.index import FactIndex
from inspector.core.message import Message
from inspector.core.needs import drive
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.instructions import InstructionKeeper
from inspector.core.policies.place import filed_at
from inspector.core.policies.verdict import CallReport, PolicyInput
from inspector.core.replay.costs import Sizes, cache_facts
from inspector.core.replay.files import RecordedFiles
from inspector.core.replay.pins import PinIndex, find_pins
from inspector.core.replay.summary_calls import expected_output
from inspector.core.session import Request, SideCall, Thread, seconds_between
from inspector.core.tokens.believing import known_counts
from inspector.core.tokens.calibration import MAX_SAMPLES
from inspector.core.tokens.pressure import PressureKind
from inspector.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Replayed:
    """One request of the replay. `start` -> `before` -> `buffer`, which is sent -> `answered` -> `after`."""

    index: int
    arrival: Arrival
    start: Buffer
    """What stood before the call, the arrived messages included."""
    buffer: Buffer
    """What would have been sent."""
    tokens: int
    kind: PressureKind
    refused: int
    """Tokens of the buffer that the model refused before this one; 0 where it refused none."""
    before: tuple[Outcome[Any], ...]
    answered: Buffer
    """With the recorded answer and its results."""
    after: tuple[Outcome[Any], ...]
    asked: tuple[AnsweredNeed, ...]
    """What was asked for before the call ..."""
    asked_after: tuple[AnsweredNeed, ...]
    """... and after its answer."""
    running: Any
    usage: Usage | None
    """What the policy was told of this call."""
    answer: tuple[Message, ...]

    @property
    def outcomes(self) -> tuple[Outcome[Any], ...]:
        """Everything that ran at this request."""
        return (*self.before, *self.after)

    @property
    def fired(self) -> tuple[str, ...]:
        """Tiers that did something."""
        return tuple(outcome.tier for outcome in self.outcomes if outcome.events or outcome.changed)


class Ground:
    """What all replays and reports of a thread have in common, worked out once. `window` in tokens: where a buffer is
    refused; None = never. `pins`: texts that should stay, beside what the user wrote; None = nothing is followed.
    `calls`: those beside the conversation. `facts`: where the facts of messages are read; None = anew."""

    def __init__(
        self,
        thread: Thread,
        window: int | None = None,
        pins: Iterable[str] | None = (),
        calls: Sequence[SideCall] = (),
        facts: FactIndex | None = None,
    ) -> None:
        self.thread, self.window = thread, window
        self.pins = PinIndex(() if pins is None else find_pins(thread, pins))
        self.arrivals, self.sizes = arrivals(thread), Sizes(thread)
        self.facts, self.cache = facts or FactIndex(), cache_facts(thread)
        self.calls = calls
        self.expected = expected_output(thread, calls, self.sizes.sizer(len(thread.requests)))
        """What a summary takes that no model has written."""


def replay(
    ground: Ground, policy: Policy[Any, Any], settings: Any, answer: Answerer, *, remote: bool = False
) -> Iterator[Replayed]:
    """Drive `policy` over the thread, request by request. O(messages in the policy's buffer) a request."""
    driver = _Driver(ground, policy, settings, answer, remote)
    for request in ground.thread.requests:
        yield driver.next(request)


USUAL_PROMPT = 30_000
"""Tokens that clients put around the messages and do not record, at most, in nearly all sessions: what is unseen beyond
them, in a file that begins in the middle, are messages from before its beginning."""


_GONE = ("summarised", "dropped")


class EarlierMessages:
    """The messages from before a file that begins in the middle. They are unseen, and go when a policy summarises or
    drops messages for the first time: it would not have left the oldest ones."""

    def __init__(self, thread: Thread) -> None:
        self._is_late, self._are_gone = thread.begins_late, False

    def go_with(self, done: Iterable[Outcome[Any]]) -> bool:
        """Did they go with what a policy did just now?"""
        fates = {fate for outcome in done for fate in outcome.changed.values()}
        if self._are_gone or not self._is_late or fates.isdisjoint(_GONE):
            return False
        self._are_gone = True
        return True

    def left(self, unseen: int) -> int:
        """Return what the next call still sends of the unseen tokens."""
        return min(unseen, USUAL_PROMPT) if self._are_gone else unseen


class _Driver:
    def __init__(self, ground: Ground, policy: Policy[Any, Any], settings: Any, answer: Answerer, remote: bool) -> None:
        if ground.thread.keeps_instructions:
            policy = InstructionKeeper(policy)
        self._ground, self._policy, self._settings = ground, policy, settings
        self._files, self._window, self._remote = RecordedFiles(rehearsed(answer)), ground.window, remote
        self._filed = filed_at(ground.thread, 0)
        self._running = policy.fresh(settings)
        self._learns = policy.learn(self._running, settings, 100, 200) is not self._running
        by = policy.prompt_estimator
        self._counts = None if by is None else known_counts(ground.thread, by)
        """Of a harness that counts its prompt: it has the unseen part of it as inferred from the recorded session."""
        self._reported: deque[tuple[int, int]] = deque(maxlen=MAX_SAMPLES)
        """(raw estimate of the seen part, prompt tokens that the provider reported, or would have)."""
        self._earlier = EarlierMessages(ground.thread)
        self._messages: tuple[Message, ...] = ()
        self._recorded = True
        """The buffer is the recorded one so far."""
        self._usage: Usage | None = None
        self._finish = self._model = ""
        self._reports: tuple[CallReport, ...] = ()
        self._time = ""

    def next(self, request: Request) -> Replayed:
        """One request, from what comes before it to what is done after its answer."""
        arrival, following = self._ground.arrivals[request.index : request.index + 2]
        start = self._start(request, arrival)
        if self._counts is not None:  # what the reports so far teach, the unseen part as it is known here
            unseen = self._earlier.left(self._counts.at(request.index).belief.unseen)
            samples = [(raw + unseen, reported) for raw, reported in self._reported]
            self._running = self._policy.calibrated(self._running, self._settings, samples)
        heard = AnswerLog(self._files)
        moment = self._moment(request)
        before = list(self._run(self._policy.before_call, start, moment, heard))
        sent = before[-1].buffer if before else start
        tokens, kind = self._size(request, sent)
        refused = 0
        if self._window is not None and tokens > self._window:
            refused = tokens
            over = replace(moment, overflow=f"prompt is too long: {tokens} tokens > {self._window} maximum")
            before += self._run(self._policy.before_call, sent, over, heard)
            sent = before[-1].buffer if before else start
            tokens, kind = self._size(request, sent)
        asked = tuple(heard.asked)
        usage = self._report(request, sent, tokens, kind, following)
        self._files.see(following.answer)
        answered = sent.with_messages((*sent.messages, *following.answer)) if following.answer else sent
        after = self._run(self._policy.after_turn, answered, self._moment(request), heard)
        self._messages = after[-1].buffer.messages if after else answered.messages
        self._time = request.time or self._time
        return Replayed(
            request.index, arrival, start, sent, tokens, kind, refused, tuple(before), answered, tuple(after),
            asked, tuple(heard.asked[len(asked) :]), self._running, usage, following.answer,
        )  # fmt: skip

    def _start(self, request: Request, arrival: Arrival) -> Buffer:
        """The policy's buffer with what arrived. The recorded one itself as long as nobody compacted anything."""
        self._files.see(arrival.new)
        self._recorded = self._recorded and not arrival.compacted
        prompt = request.prompt
        if self._counts is not None:
            unseen = self._earlier.left(self._counts.at(request.index).belief.unseen)
            prompt = replace(prompt, unseen=unseen)
        if self._recorded and not arrival.grown:
            return Buffer(request.view.messages(), prompt)
        standing = self._messages
        if arrival.swapped or arrival.gone:
            kept = (message for message in standing if message.id not in arrival.gone or message.summary)
            standing = tuple(
                message  # the policy has changed it, or it is one of the policy's own
                if message.summary or message.mark == "placeholder"
                else arrival.swapped.get(message.id, message)
                for message in kept
            )
        return Buffer((*standing, *arrival.new), prompt)

    def _run(self, call: Any, buffer: Buffer, moment: PolicyInput, heard: AnswerLog) -> Sequence[Outcome[Any]]:
        context = PolicyContext(buffer, self._settings, self._running, moment, self._window)
        done: Sequence[Outcome[Any]] = drive(call(context), heard)
        if done:
            self._running = done[-1].running
            if done[-1].buffer.messages is not buffer.messages:
                self._recorded = False
            if self._earlier.go_with(done):
                self._reported.clear()  # of buffers that held them
            if len(done[-1].buffer.messages) < len(buffer.messages):
                self._reports = ()
        return done

    def _moment(self, request: Request) -> PolicyInput:
        return PolicyInput(
            request.index,
            request.model or self._model or self._ground.thread.model,
            self._usage,
            self._finish,
            self._reports,
            remote=self._remote,
            agent="" if self._ground.thread.id == "main" else self._ground.thread.id,
            idle_s=seconds_between(self._time, request.time),
            filed=self._filed,
        )

    def _size(self, request: Request, buffer: Buffer) -> tuple[int, PressureKind]:
        sizes = self._ground.sizes
        weight = sizes.weigh_buffer(buffer.messages)
        tokens, kind = sizes.size(request.index, weight, request.prompt, self._recorded)
        unseen = sizes.unseen(request.index)
        return tokens - unseen + self._earlier.left(unseen), kind

    def _report(
        self, request: Request, sent: Buffer, tokens: int, kind: PressureKind, following: Arrival
    ) -> Usage | None:
        """Tell the policy what the provider reported, or would have."""
        usage = request.usage
        if usage is not None and kind != "reported":
            usage = Usage(input=tokens, output=usage.output, reasoning=usage.reasoning)
        self._usage, self._finish, self._model = usage, request.finish, request.model or self._model
        if usage is not None and self._learns:
            raw, _ = self._policy.measure(PolicyContext(sent, self._settings, self._running))
            self._running = self._policy.learn(self._running, self._settings, raw, usage.prompt)
            self._reported.append((raw - sent.prompt.unseen, usage.prompt))
        said = [message.id for message in following.answer if message.role == "assistant"]
        upto = sent.messages[-1].id if sent.messages else ""
        if said:
            upto = said[-1]
        self._reports = (CallReport(upto, usage, request.finish, request.model),) if upto else ()
        return usage
