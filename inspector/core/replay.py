"""A policy driven over a whole recorded session: what its buffer would have been at every request.

The recorded session gives the messages: before each request those that are new since the one before come in, by id.
Summaries that the recorded harness wrote stay out: the policy writes its own. Where the transcript reports usage, the
policy's calibration learns from it as long as its own buffer is still the recorded one; after its first change it
learns no more, because what the provider would have reported then is not known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.answering import Answerer, Asked, Listening
from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.needs import drive
from inspector.core.outcome import Outcome
from inspector.core.policies.policy import Moment, Policy
from inspector.core.session import Request, Thread


@dataclass(frozen=True, slots=True)
class Replayed:
    """One request of the replay: the buffer that would have been sent, and what ran before and after it."""

    index: int
    buffer: Buffer
    raw: int
    tokens: int
    """The policy's own calibrated estimate of `buffer`."""
    before: tuple[Outcome[Any], ...]
    after: tuple[Outcome[Any], ...]
    asked: tuple[Asked, ...]
    running: Any

    @property
    def outcomes(self) -> tuple[Outcome[Any], ...]:
        """Everything that ran at this request."""
        return (*self.before, *self.after)

    @property
    def fired(self) -> tuple[str, ...]:
        """Tiers that did something."""
        return tuple(one.tier for one in self.outcomes if one.events or one.changed)


def replay(
    thread: Thread, policy: Policy[Any, Any], settings: Any, answer: Answerer, remote: bool = False
) -> Iterator[Replayed]:
    """Drive `policy` over the thread, request by request. O(messages in the policy's buffer) a request."""
    running = policy.fresh(settings)
    messages: tuple[Message, ...] = ()
    recorded, usage, finish = True, None, ""
    for request, new in zip(thread.requests, additions(thread.requests), strict=True):
        start = Buffer((*messages, *new), request.prompt)
        moment = Moment(request.index, request.model, usage, finish, remote=remote)
        heard = Listening(answer)
        before: Sequence[Outcome[Any]] = drive(policy.before_call(start, settings, running, moment), heard)
        sent = before[-1].buffer if before else start
        running = before[-1].running if before else running
        raw, tokens = policy.measure(sent, settings, running)
        recorded = recorded and sent is start
        usage, finish = request.usage, request.finish
        if recorded and usage is not None:
            running = policy.learn(running, settings, raw, usage.prompt)
        after: Sequence[Outcome[Any]] = drive(policy.after_turn(sent, settings, running, moment), heard)
        messages = after[-1].buffer.messages if after else sent.messages
        running = after[-1].running if after else running
        recorded = recorded and messages is sent.messages
        yield Replayed(request.index, sent, raw, tokens, tuple(before), tuple(after), tuple(heard.asked), running)


def additions(requests: Sequence[Request]) -> Iterator[tuple[Message, ...]]:
    """The messages that each request brings, each message once, recorded summaries left out. O(messages) in all,
    but for a walk over the buffer where a stretch begins."""
    seen: set[str] = set()
    last = None
    for request in requests:
        view = request.view
        if last is not None and view.stretch is last.stretch and view.length >= last.length:
            new = view.tail(last.length)
        else:
            new = view.messages()
        last = view
        fresh = tuple(message for message in new if message.id not in seen and not message.summary)
        seen.update(message.id for message in fresh)
        yield fresh
