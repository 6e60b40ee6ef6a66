"""The simulated provider gives every policy of the house the summary that it asks for, in the policy's own words."""

import pytest

from inspector.core.answering import AnswerLog
from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Message
from inspector.core.needs import Answer, drive
from inspector.core.policies.catalogue import POLICIES, TITLES
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.verdict import PolicyInput
from inspector.simulated.server import SimulatedServer
from tests.providers.providing import READ, WIRES, by_url, call, result, user

TURNS = 8
ASKING = [(name, tier.name) for name in TITLES for tier in POLICIES[name].tiers if tier.calls_model]


def _buffer() -> Buffer:
    messages: list[Message] = []
    for n in range(TURNS):
        messages += [
            user(f"u{n}", f"Please look at part {n}."),
            call(f"a{n}", f"call_{n}", file_path=f"src/part{n}.py"),
            result(f"r{n}", f"call_{n}", f"line {n} " * 400),
        ]
    return Buffer(tuple(messages), Prompt("You code.", (READ,)))


@pytest.mark.parametrize(("name", "tier"), ASKING)
def test_a_summary_is_given_and_tells_of_the_calls(
    simulated: SimulatedServer, name: str, tier: str
) -> None:
    policy = POLICIES[name]
    settings = policy.settings([], 4_000)
    for wire in WIRES:
        with by_url(simulated, wire) as answer:
            heard = AnswerLog(answer)
            drive(
                policy.tier(
                    tier,
                    PolicyContext(_buffer(), settings, policy.fresh(settings), PolicyInput(step=1)),
                ),
                heard,
            )
        answers = [one.reply.text for one in heard.asked if isinstance(one.reply, Answer)]
        assert not [text for text in answers if "The last thing you said was" in text]
