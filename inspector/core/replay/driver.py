"""Run a policy over a recorded session, and compute its buffer at every request.

The recording provides the messages: user prompts, answers of the model, results of tools. Each is used once. Summaries
of the recorded harness, and the messages that its client re-attached after them, are left out, because the policy makes
its own. (A summary at the beginning of the file is kept, because the messages that it replaces are not in the file.)
Answers that a recorded compaction removed before any request sent them are included. A rewind or an edit in the
recording is applied, a recorded compaction is not.

After each request the policy gets the usage report that it would get in real use: the provider's reported usage if the
buffer is the recorded one, or the size computed by `costs.Sizes` if it is not. If the recording reports no usage, the
policy gets no report. Nothing is written, and a file has the content that the session last read.

A buffer larger than the window is refused once: the policy runs its step for an overflow, and the result is sent.
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
from inspector.core.replay.pins import PinIndex, collect_pins
from inspector.core.replay.summary_calls import expected_output
from inspector.core.session import Request, SideCall, Thread, seconds_between
from inspector.core.tokens.believing import known_counts
from inspector.core.tokens.calibration import MAX_SAMPLES
from inspector.core.tokens.pressure import PressureKind
from inspector.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Replayed:
    """One request of the replay. Order: `start`, the outcomes `before`, `buffer` (sent), `answered`, `after`."""

    index: int
    arrival: Arrival
    start: Buffer
    """The buffer before any tier ran, with the newly arrived messages."""
    buffer: Buffer
    """The buffer that the policy would have sent."""
    tokens: int
    kind: PressureKind
    refused: int
    """Tokens of the buffer that was refused as too large before `buffer` was sent; 0 if none was refused."""
    before: tuple[Outcome[Any], ...]
    answered: Buffer
    """The sent buffer with the recorded answer."""
    after: tuple[Outcome[Any], ...]
    needs: tuple[AnsweredNeed, ...]
    """Needs of the tiers that ran before the request, with their replies."""
    needs_after: tuple[AnsweredNeed, ...]
    """Needs of the tiers that ran after the answer, with their replies."""
    running: Any
    usage: Usage | None
    """The usage that was reported to the policy."""
    answer: tuple[Message, ...]

    @property
    def outcomes(self) -> tuple[Outcome[Any], ...]:
        """Return the outcomes of all tiers that ran at this request."""
        return (*self.before, *self.after)

    @property
    def fired(self) -> tuple[str, ...]:
        """Return the names of the tiers that changed the buffer or reported an event."""
        return tuple(outcome.tier for outcome in self.outcomes if outcome.events or outcome.changed)


class Ground:
    """Data that all replays and reports of a thread share, computed once."""

    def __init__(
        self,
        thread: Thread,
        window: int | None = None,
        pins: Iterable[str] | None = (),
        calls: Sequence[SideCall] = (),
        facts: FactIndex | None = None,
    ) -> None:
        """Prepare the replays of a thread. O(messages).

        Args:
            thread: The thread.
            window: Largest buffer in tokens; larger ones are refused. None if there is no limit.
            pins: Texts that should stay in the buffer, in addition to the user's wishes; None to follow no pins.
            calls: The side calls of the session.
            facts: An index of facts to share with other replays; None for a new index.
        """
        self.thread = thread
        self.window = window
        self.pins = PinIndex(() if pins is None else collect_pins(thread, pins))
        self.arrivals = arrivals(thread)
        self.sizes = Sizes(thread)
        self.facts = facts or FactIndex()
        self.cache = cache_facts(thread)
        self.calls = calls
        self.expected = expected_output(thread, calls, self.sizes.sizer(len(thread.requests)))
        """Expected length of a summary that no model has written."""


def replay_requests(
    ground: Ground,
    policy: Policy[Any, Any],
    settings: Any,
    answer: Answerer,
    *,
    remote: bool = False,
) -> Iterator[Replayed]:
    """Run `policy` over the thread, and yield each request. O(messages in the policy's buffer) per request."""
    driver = _Driver(ground, policy, settings, answer, remote)
    for request in ground.thread.requests:
        yield driver.next(request)


USUAL_PROMPT = 30_000
"""In nearly all sessions, the client sends at most this many tokens (system prompt, tools) without recording them. If a
file that begins in the middle of a conversation lacks more tokens, they are from messages before its beginning."""


_GONE = ("summarised", "dropped")


class EarlierMessages:
    """The unrecorded messages before the beginning of a file that begins in the middle of a conversation.

    They count as removed when a policy summarises or drops messages for the first time, because a policy removes the
    oldest messages first.
    """

    def __init__(self, thread: Thread) -> None:
        self._is_late = thread.begins_late
        self._are_gone = False

    def are_removed_by(self, done: Iterable[Outcome[Any]]) -> bool:
        """Do these outcomes of a policy remove the earlier messages? True at most once."""
        fates = {fate for outcome in done for fate in outcome.changed.values()}
        if self._are_gone or not self._is_late or fates.isdisjoint(_GONE):
            return False
        self._are_gone = True
        return True

    def left(self, unseen: int) -> int:
        """Return how many of the `unseen` tokens (not in the file) the next request still sends."""
        return min(unseen, USUAL_PROMPT) if self._are_gone else unseen


class _Driver:
    def __init__(
        self,
        ground: Ground,
        policy: Policy[Any, Any],
        settings: Any,
        answer: Answerer,
        remote: bool,
    ) -> None:
        if ground.thread.keeps_instructions:
            policy = InstructionKeeper(policy)
        self._ground = ground
        self._policy = policy
        self._settings = settings
        self._files = RecordedFiles(rehearsed(answer))
        self._window = ground.window
        self._remote = remote
        self._filed = filed_at(ground.thread, at=0)
        self._running = policy.fresh(settings)
        self._learns = policy.learn(self._running, settings, 100, 200) is not self._running
        by = policy.prompt_estimator
        self._counts = None if by is None else known_counts(ground.thread, by)
        """The harness's own count, including tokens not in the file; None if its policy does not count the prompt."""
        self._reported: deque[tuple[int, int]] = deque(maxlen=MAX_SAMPLES)
        """(raw estimate of the recorded part, prompt tokens reported by the provider or predicted)."""
        self._earlier = EarlierMessages(ground.thread)
        self._messages: tuple[Message, ...] = ()
        self._recorded = True
        """True while the policy's buffer equals the recorded one."""
        self._usage: Usage | None = None
        self._finish = self._model = ""
        self._reports: tuple[CallReport, ...] = ()
        self._time = ""

    def next(self, request: Request) -> Replayed:
        """Replay one request: run the tiers before it, send it, add its answer, run the tiers after it."""
        arrival, following = self._ground.arrivals[request.index : request.index + 2]
        start = self._start(request, arrival)
        self._calibrate(request)
        log = AnswerLog(self._files)
        moment = self._moment(request)
        before = list(self._run(self._policy.before_call, start, moment, log))
        sent = before[-1].buffer if before else start
        tokens, kind = self._size(request, sent)
        refused = 0
        if self._window is not None and tokens > self._window:
            refused = tokens
            refusal = f"prompt is too long: {tokens} tokens > {self._window} maximum"
            over = replace(moment, overflow=refusal)
            before += self._run(self._policy.before_call, sent, over, log)
            sent = before[-1].buffer if before else start
            tokens, kind = self._size(request, sent)
        needs = tuple(log.asked)
        usage = self._report(request, sent, tokens, kind, following)
        self._files.see(following.answer)
        answered = sent
        if following.answer:
            answered = sent.with_messages((*sent.messages, *following.answer))
        after = self._run(self._policy.after_turn, answered, self._moment(request), log)
        self._messages = after[-1].buffer.messages if after else answered.messages
        self._time = request.time or self._time
        return Replayed(
            request.index,
            arrival,
            start,
            buffer=sent,
            tokens=tokens,
            kind=kind,
            refused=refused,
            before=tuple(before),
            answered=answered,
            after=tuple(after),
            needs=needs,
            needs_after=tuple(log.asked[len(needs) :]),
            running=self._running,
            usage=usage,
            answer=following.answer,
        )

    def _calibrate(self, request: Request) -> None:
        """Calibrate a policy that counts its own prompt by the reports so far."""
        if self._counts is not None:
            unseen = self._earlier.left(self._counts.at(request.index).belief.unseen)
            samples = [(raw + unseen, reported) for raw, reported in self._reported]
            self._running = self._policy.calibrated(self._running, self._settings, samples)

    def _start(self, request: Request, arrival: Arrival) -> Buffer:
        """Return the policy's buffer with the newly arrived messages: the recorded buffer until a compaction."""
        self._files.see(arrival.new)
        self._recorded = self._recorded and not arrival.compacted
        prompt = request.prompt
        if self._counts is not None:
            unseen = self._earlier.left(self._counts.at(request.index).belief.unseen)
            prompt = replace(prompt, unseen=unseen)
        if self._recorded and not arrival.grown:
            return Buffer(request.view.messages(), prompt)
        messages = self._messages
        if arrival.swapped or arrival.gone:
            remaining = (
                message for message in messages if message.id not in arrival.gone or message.summary
            )
            messages = tuple(
                message  # changed or made by the policy
                if message.summary or message.mark == "placeholder"
                else arrival.swapped.get(message.id, message)
                for message in remaining
            )
        return Buffer((*messages, *arrival.new), prompt)

    def _run(
        self, call: Any, buffer: Buffer, moment: PolicyInput, log: AnswerLog
    ) -> Sequence[Outcome[Any]]:
        context = PolicyContext(buffer, self._settings, self._running, moment, self._window)
        done: Sequence[Outcome[Any]] = drive(call(context), log)
        if done:
            self._running = done[-1].running
            if done[-1].buffer.messages is not buffer.messages:
                self._recorded = False
            if self._earlier.are_removed_by(done):
                self._reported.clear()  # those reports include the earlier messages
            if len(done[-1].buffer.messages) < len(buffer.messages):
                self._reports = ()
        return done

    def _moment(self, request: Request) -> PolicyInput:
        thread = self._ground.thread
        model = request.model or self._model or thread.model
        agent = "" if thread.id == "main" else thread.id
        idle_s = seconds_between(self._time, request.time)
        return PolicyInput(
            request.index,
            model,
            self._usage,
            self._finish,
            self._reports,
            remote=self._remote,
            agent=agent,
            idle_s=idle_s,
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
        """Pass the usage to the policy that the provider reported, or would have reported for the policy's buffer."""
        usage = request.usage
        if usage is not None and kind != "reported":
            usage = Usage(input=tokens, output=usage.output, reasoning=usage.reasoning)
        self._usage = usage
        self._finish = request.finish
        self._model = request.model or self._model
        if usage is not None and self._learns:
            raw, _ = self._policy.measure(PolicyContext(sent, self._settings, self._running))
            self._running = self._policy.learn(self._running, self._settings, raw, usage.prompt)
            self._reported.append((raw - sent.prompt.unseen, usage.prompt))
        answers = [message.id for message in following.answer if message.role == "assistant"]
        upto = sent.messages[-1].id if sent.messages else ""
        if answers:
            upto = answers[-1]
        self._reports = (CallReport(upto, usage, request.finish, request.model),) if upto else ()
        return usage
