"""A policy driven over a whole recorded session: what its buffer would have been at every request.

The recording gives the messages (`replay_arrivals`): what the user typed, what the model answered, what the tools said.
The policy gives what is done with them. Everything it would be told in life it is told here: after each call what the
provider would have reported, which is what it did report where the buffer is the recorded one, else the size as
`replay_sizes` works it out. Where the recording reports nothing, nothing is reported to the policy.

A buffer larger than the window is refused: the policy takes its step after an overflow, once, and then it is sent.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.answering import Answerer, Asked, Listening
from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Message
from inspector.core.needs import drive
from inspector.core.outcome import Outcome
from inspector.core.policies.harness import Policy
from inspector.core.policies.start import filed_at
from inspector.core.policies.verdict import CallReport, PolicyInput
from inspector.core.replay.arrivals import Arrival, additions, arrivals
from inspector.core.replay.costs import seconds_between
from inspector.core.replay.sizes import Sizes
from inspector.core.replay.world import World
from inspector.core.session import Request, Thread
from inspector.core.tokens.calibration import MAX_SAMPLES
from inspector.core.tokens.pressure import PressureKind, Pressures, known_pressures
from inspector.core.usage import Usage

__all__ = ["Known", "Replayed", "additions", "replay"]


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
    asked: tuple[Asked, ...]
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
        return tuple(one.tier for one in self.outcomes if one.events or one.changed)


class Known:
    """What a thread's replays have in common, worked out once."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        self.arrivals = arrivals(thread)
        self.sizes = Sizes(thread)


def replay(
    thread: Thread,
    policy: Policy[Any, Any],
    settings: Any,
    answer: Answerer,
    *,
    window: int | None = None,
    remote: bool = False,
    known: Known | None = None,
) -> Iterator[Replayed]:
    """Drive `policy` over the thread, request by request. `window` in tokens: where a buffer is refused; None = never.

    O(messages in the policy's buffer) a request.
    """
    driver = _Driver(known or Known(thread), policy, settings, answer, window, remote)
    for request in thread.requests:
        yield driver.next(request)


class _Driver:
    def __init__(
        self,
        known: Known,
        policy: Policy[Any, Any],
        settings: Any,
        answer: Answerer,
        window: int | None,
        remote: bool,
    ) -> None:
        self._known, self._policy, self._settings = known, policy, settings
        self._world, self._window, self._remote = World(answer), window, remote
        self._filed = filed_at(known.thread, 0)
        self._running = policy.fresh(settings)
        self._learns = policy.learn(self._running, settings, 100, 200) is not self._running
        self._prompt = _CountedPrompt(known.thread, policy)
        self._messages: tuple[Message, ...] = ()
        self._recorded = True
        """The buffer is the recorded one so far."""
        self._usage: Usage | None = None
        self._finish = self._model = ""
        self._reports: tuple[CallReport, ...] = ()
        self._time = ""

    def next(self, request: Request) -> Replayed:
        """One request, from what comes before it to what is done behind its answer."""
        arrival, following = self._known.arrivals[request.index : request.index + 2]
        start = self._start(request, arrival)
        self._running = self._prompt.calibrated(self._policy, self._settings, self._running, request.index)
        heard = Listening(self._world)
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
        usage = self._report(request, sent, tokens, kind, following)
        self._world.see(following.answer)
        answered = sent.with_messages((*sent.messages, *following.answer)) if following.answer else sent
        after = self._run(self._policy.after_turn, answered, self._moment(request), heard)
        self._messages = after[-1].buffer.messages if after else answered.messages
        self._time = request.time or self._time
        return Replayed(
            request.index, arrival, start, sent, tokens, kind, refused, tuple(before), answered, tuple(after),
            tuple(heard.asked), self._running, usage, following.answer,
        )  # fmt: skip

    def _start(self, request: Request, arrival: Arrival) -> Buffer:
        """The policy's buffer with what arrived. The recorded one itself as long as nobody compacted anything."""
        self._world.see(arrival.new)
        self._recorded = self._recorded and not arrival.compacted
        edited = arrival.swapped or arrival.gone
        if self._recorded and not arrival.grown:
            return Buffer(request.view.messages(), self._prompt.of(request))
        standing = self._messages
        if edited:
            kept = (message for message in standing if message.id not in arrival.gone or message.summary)
            standing = tuple(_swapped(message, arrival) for message in kept)
        return Buffer((*standing, *arrival.new), self._prompt.of(request))

    def _run(self, call: Any, buffer: Buffer, moment: PolicyInput, heard: Listening) -> Sequence[Outcome[Any]]:
        done: Sequence[Outcome[Any]] = drive(call(buffer, self._settings, self._running, moment), heard)
        if done:
            self._running = done[-1].running
            if done[-1].buffer.messages is not buffer.messages:
                self._recorded = False
            if len(done[-1].buffer.messages) < len(buffer.messages):
                self._reports = ()
        return done

    def _moment(self, request: Request) -> PolicyInput:
        return PolicyInput(
            request.index,
            request.model or self._model or self._known.thread.model,
            self._usage,
            self._finish,
            self._reports,
            remote=self._remote,
            agent="" if self._known.thread.id == "main" else self._known.thread.id,
            idle_s=seconds_between(self._time, request.time),
            filed=self._filed,
        )

    def _size(self, request: Request, buffer: Buffer) -> tuple[int, PressureKind]:
        sizes = self._known.sizes
        weight = sizes.weigh_buffer(buffer.messages)
        return sizes.size(request.index, weight, request.prompt, self._recorded)

    def _report(
        self, request: Request, sent: Buffer, tokens: int, kind: PressureKind, following: Arrival
    ) -> Usage | None:
        """Tell the policy what the provider reported, or would have."""
        usage = request.usage
        if usage is not None and kind != "reported":
            usage = Usage(input=tokens, output=usage.output, reasoning=usage.reasoning)
        self._usage, self._finish, self._model = usage, request.finish, request.model or self._model
        if usage is not None and self._learns:
            raw, _ = self._policy.measure(sent, self._settings, self._running)
            self._running = self._policy.learn(self._running, self._settings, raw, usage.prompt)
            self._prompt.report(raw - sent.prompt.unseen, usage.prompt)
        said = [message.id for message in following.answer if message.role == "assistant"]
        upto = said[-1] if said else sent.messages[-1].id if sent.messages else ""
        self._reports = (CallReport(upto, usage, request.finish, request.model),) if upto else ()
        return usage


class _CountedPrompt:
    """What a harness that counts its prompt has of it: with the unseen part, as inferred from the recorded session."""

    def __init__(self, thread: Thread, policy: Policy[Any, Any]) -> None:
        by = policy.prompt_estimator
        self._pressures: Pressures | None = None if by is None else known_pressures(thread, by)
        self._reports: deque[tuple[int, int]] = deque(maxlen=MAX_SAMPLES)

    def of(self, request: Request) -> Prompt:
        """At a request."""
        if self._pressures is None:
            return request.prompt
        return replace(request.prompt, unseen=self._pressures.belief(request.index).unseen)

    def report(self, raw: int, reported: int) -> None:
        """The provider reported, or would have, a buffer whose seen part has that raw estimate."""
        self._reports.append((raw, reported))

    def calibrated(self, policy: Policy[Any, Any], settings: Any, running: Any, index: int) -> Any:
        """The running state with what the reports so far teach, the unseen part as it is known at request `index`."""
        if self._pressures is None:
            return running
        unseen = self._pressures.belief(index).unseen
        return policy.calibrated(running, settings, [(raw + unseen, reported) for raw, reported in self._reports])


def _swapped(message: Message, arrival: Arrival) -> Message:
    """As the recording has it now, unless the policy has changed it or it is one of the policy's own."""
    new = arrival.swapped.get(message.id)
    return message if new is None or message.summary or message.mark == "placeholder" else new
