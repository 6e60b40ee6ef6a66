"""What a policy would do about a held request, done without a person: what is due, by the extractive summariser."""

from collections.abc import Sequence
from typing import Any

from inspector.core.answering import Answerer, offline, rehearsed
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.needs import drive
from inspector.core.policies.catalogue import policy
from inspector.core.policies.policy import Moment
from inspector.core.validity import check
from inspector.live.proxy.hold import Hold


class Compactor:
    """One policy over all conversations of a proxy; each has a running state of its own.

    Raises InspectorError for a policy or a setting that there is not.
    """

    def __init__(self, name: str, pairs: Sequence[tuple[str, str]] = (), answer: Answerer = offline) -> None:
        self._policy, self._pairs = policy(name), tuple(pairs)
        self._answer = rehearsed(answer)
        self._running: dict[tuple[str, str], Any] = {}
        self._policy.settings(self._pairs)

    def __call__(self, hold: Hold, buffer: Buffer) -> Buffer | None:
        """The buffer after what is due; None where nothing is, or where a provider would refuse what came of it."""
        by, name = self._policy, (hold.client, hold.session)
        settings = by.settings(self._pairs, hold.window)
        running = self._running.get(name) or by.fresh(settings)
        raw, _ = by.measure(buffer, settings, running)
        if hold.tokens:
            running = by.learn(running, settings, raw, hold.tokens)
        moment = Moment(step=hold.exchange, model=hold.model)
        outcomes = drive(by.run_due(buffer, settings, running, moment), self._answer)
        last = outcomes[-1]
        self._running[name] = last.running
        if last.buffer.messages == buffer.messages or not last.buffer.messages:
            return None
        worse = {one.rule for one in check(last.buffer)} - {one.rule for one in check(buffer)}
        if worse:
            raise InspectorError(f"{by.title} left a buffer that a provider would refuse ({', '.join(sorted(worse))}).")
        return last.buffer
