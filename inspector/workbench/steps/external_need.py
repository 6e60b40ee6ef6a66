"""A need of somebody else (a run that is under way), met by the person with the means of the stepper."""

from collections.abc import Callable, Generator
from typing import Any

from inspector.core.needs import Answer, Failure, Need
from inspector.core.policies.catalogue import policy
from inspector.core.policies.policy import Moment
from inspector.workbench.steps.stepper import Running


class Lent(Running):
    """Passes the one reply on to `reply`; giving it up passes nothing: the need stays open where it was asked."""

    def __init__(self, who: str, policy_name: str, need: Need, reply: Callable[[Answer | Failure], None]) -> None:
        super().__init__(policy(policy_name), who, None, Moment(), _no_talk())
        self.need = need
        self._reply = reply

    def answer(self, reply: Answer | Failure) -> None:
        """Once."""
        if self.need is not None:
            self.need = None
            self._reply(reply)


def _no_talk() -> Generator[Need, Answer, Any]:
    yield from ()
