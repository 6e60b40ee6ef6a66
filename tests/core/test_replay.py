"""A policy over a recorded session."""

from inspector.core.answering import offline
from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text
from inspector.core.policies.roku import POLICY
from inspector.core.replay import additions, replay
from inspector.core.session import Request, Thread
from inspector.core.usage import Usage
from tests.core.policies.build import build


def thread(k: int, body: str, usage: Usage | None = None) -> Thread:
    """One request per call of build(k): the buffer before each assistant message."""
    stretch = Stretch(None, build(k, body).messages)
    requests = [Request(n, stretch.view(1 + 2 * n), usage=usage) for n in range(k)]
    return Thread("main", requests=requests, end=stretch.view())


def test_a_policy_that_never_fires_sends_what_was_recorded() -> None:
    recorded = thread(10, "x" * 400)
    settings = POLICY.settings([("microcompact_retain_recent", "99")])
    for one, request in zip(replay(recorded, POLICY, settings, offline), recorded.requests, strict=True):
        assert one.buffer.messages == request.view.messages()
        assert not one.fired


def test_tiers_fire_and_the_buffer_stays_below_the_window() -> None:
    done = list(replay(thread(60, "x" * 2000), POLICY, POLICY.settings((), 4000), offline))
    assert {"L0", "L1"} <= {tier for one in done for tier in one.fired}
    assert max(one.tokens for one in done) < 4000
    assert [one.index for one in done] == list(range(60))


def test_calibration_learns_only_while_the_buffer_is_the_recorded_one() -> None:
    done = list(replay(thread(9, "x" * 400, Usage(input=500)), POLICY, POLICY.settings(()), offline))
    samples = [len(one.running.calibration.samples) for one in done]
    assert samples == [1, 2, 3, 4, 4, 4, 4, 4, 4]


def test_additions_skip_recorded_summaries_and_what_was_there() -> None:
    old = Stretch(None, build(2, "r").messages)
    summary = Message("s", "user", (Text("summary"),), summary=True)
    new = Stretch(None, [summary, old.own[-1], Message("n", "user", (Text("new"),))])
    requests = [Request(0, old.view(3)), Request(1, old.view()), Request(2, new.view())]
    assert [[m.id for m in added] for added in additions(requests)] == [
        [m.id for m in old.own[:3]],
        [m.id for m in old.own[3:]],
        ["n"],
    ]
