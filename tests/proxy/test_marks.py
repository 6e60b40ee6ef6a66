"""What the gate remembers of a conversation: marks that it got to, what was decided about a request made again."""

from inspector.proxy.holds.hold import Rule
from inspector.proxy.holds.memory import DROPPED_S, ConversationState


def marks(rule: Rule, window: int) -> list[float]:
    return [mark * window for mark in rule.marks]


def test_each_mark_is_told_once_until_the_conversation_was_well_below() -> None:
    lines = marks(Rule("watermark", 0.6), 1_000)
    assert lines == [600, 800]
    standing = ConversationState()
    told = [
        standing.reached(tokens, lines)
        for tokens in (500, 610, 650, 590, 620, 810, 1_270, 700, 810, 560, 610)
    ]
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


def test_a_dropped_request_is_dropped_again_for_a_while_only() -> None:
    """Then it is a new one: whoever asks for the same a minute later wants it."""
    standing = ConversationState()
    standing.decide("one", "dropped", 100.0)
    assert standing.decided("one", 100.0 + DROPPED_S) == "dropped"
    assert standing.decided("one", 100.1 + DROPPED_S) is None
    assert standing.decided("other", 100.0) is None
    standing.decide("one", "as it was", 100.0)
    assert standing.decided("one", 1e6) == "as it was"


def test_the_oldest_decisions_are_forgotten() -> None:
    standing = ConversationState()
    for n in range(65):
        standing.decide(str(n), "changed", 0.0)
    assert standing.decided("0", 0.0) is None
    assert standing.decided("64", 0.0) == "changed"
