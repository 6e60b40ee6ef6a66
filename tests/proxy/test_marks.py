"""What the gate remembers of a conversation: marks that it got to, what was decided about a request made again."""

from inspector.core.jsontext import dumps
from inspector.proxy.gate import PendingRequest
from inspector.proxy.holds.call import ModelCall, read
from inspector.proxy.holds.hold import DROPPED_S, Retries, Rule
from inspector.proxy.holds.memory import ConversationState
from inspector.proxy.record.records import RequestHead


def marks(rule: Rule, window: int) -> list[float]:
    return [mark * window for mark in rule.marks]


def test_each_mark_is_told_once_until_the_conversation_was_well_below() -> None:
    lines = marks(Rule("watermark", 0.6), 1_000)
    assert lines == [600, 800]
    standing = ConversationState()
    told = [standing.reached(tokens, lines) for tokens in (500, 610, 650, 590, 620, 810, 1_270, 700, 810, 560, 610)]
    assert told == [False, True, False, False, False, True, False, False, True, False, True]


def test_both_marks_at_once_are_one() -> None:
    standing = ConversationState()
    assert standing.reached(900, [600, 800])
    assert not standing.reached(950, [600, 800])


def test_another_rule_is_a_new_mark() -> None:
    standing = ConversationState()
    assert standing.reached(700, [500, 750])
    assert standing.reached(820, marks(Rule("watermark", 0.8), 1_000))


def test_a_full_window_is_never_beyond_the_last_mark() -> None:
    assert Rule("watermark", 0.5).full == 1.0
    assert Rule("watermark", 1.2).marks == (1.2,)
    assert Rule("watermark", 1.2).full == 1.2


class _Nobody:
    """Whom the gate never talks to here."""


def reading(text: str) -> ModelCall:
    body = dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}).encode()
    asking = RequestHead(0, 0, "http", "POST", "/v1/messages", "", (("content-type", "application/json"),))
    found = read(PendingRequest(asking, body, _Nobody()), {})  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_dropped_request_is_dropped_again_for_a_while_only() -> None:
    """Then it is a new one: whoever asks for the same a minute later wants it."""
    retries, asked = Retries(), reading("one")
    retries.remember(asked, "dropped", 100.0)
    assert retries.find(asked, 100.0 + DROPPED_S) == "dropped"
    assert retries.find(asked, 100.1 + DROPPED_S) is None
    assert retries.find(reading("other"), 100.0) is None
    retries.remember(asked, "as it was", 100.0)
    assert retries.find(asked, 1e6) == "as it was"


def test_the_oldest_decisions_are_forgotten() -> None:
    retries = Retries()
    for n in range(65):
        retries.remember(reading(str(n)), "changed", 0.0)
    assert retries.find(reading("0"), 0.0) is None
    assert retries.find(reading("64"), 0.0) == "changed"
