"""Repair: afterwards calls and results pair up, and nothing else has changed."""

from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.outcome import fates
from inspector.core.validity import REMOVED, find_refusals, repair
from tests.core.policies.build import assistant, buffer, result, texts, user

PAIRING = {"result-without-call", "call-without-result", "duplicate-answer"}


def call(*ids: str) -> Message:
    return assistant("calling", *((one, "Bash", {}) for one in ids))


def test_a_sound_buffer_is_the_very_same() -> None:
    sound = buffer(user("go"), call("a", "b"), result("a", "1"), result("b", "2"), user("more"))
    assert repair(sound, None).buffer is sound
    assert not repair(sound, None).events


def test_an_orphan_result_is_dropped() -> None:
    broken = buffer(user("go"), result("gone", "what was it"), call("a"), result("a", "1"))
    mended = repair(broken, None)
    assert [one.id for one in mended.buffer.messages] == [broken.messages[n].id for n in (0, 2, 3)]
    assert mended.changed == {broken.messages[1].id: "dropped"}
    assert mended.events[0].fields == {"dropped_results": 1, "answered_calls": 0}
    assert not find_refusals(mended.buffer)


def test_an_unanswered_call_gets_an_answer_behind_its_turn() -> None:
    broken = buffer(user("go"), call("a"), call("b"), result("b", "2"), user("and then"), call("c"))
    mended = repair(broken, None).buffer
    assert texts(mended.messages) == [
        "go",
        "calling",
        "calling",
        "2",
        REMOVED,
        "and then",
        "calling",
        REMOVED,
    ]
    assert [one.result.is_error for one in mended.messages if one.result] == [False, True, True]
    assert not find_refusals(mended)
    names = [fate.name for fate in fates(broken, repair(broken, None))]
    assert names.count("inserted") == 2


def test_a_second_answer_is_dropped() -> None:
    mended = repair(
        buffer(user("go"), call("a"), result("a", "1"), result("a", "again")), None
    ).buffer
    assert texts(mended.messages) == ["go", "calling", "1"]


def test_a_call_id_used_twice_and_answered_once() -> None:
    mended = repair(
        buffer(user("go"), call("a"), result("a", "1"), user("x"), call("a"), user("y")), None
    ).buffer
    assert texts(mended.messages) == ["go", "calling", "1", "x", "calling", REMOVED, "y"]


ONE = st.one_of(
    st.builds(user, st.just("u")),
    st.lists(st.sampled_from("abc"), max_size=3).map(lambda ids: call(*ids)),
    st.builds(result, st.sampled_from("abc"), st.just("r")),
)


@given(st.lists(ONE, max_size=14))
def test_whatever_comes_in_pairs_up_afterwards(messages: list[Message]) -> None:
    before = Buffer(tuple(messages))
    mended = repair(before, None)
    assert not {found.rule for found in find_refusals(mended.buffer)} & PAIRING
    assert repair(mended.buffer, None).buffer is mended.buffer
    stayed = [one for one in mended.buffer.messages if not one.id.startswith("repair-")]
    assert [id(one) for one in stayed] == [
        id(one) for one in messages if one.id not in mended.changed
    ]
    assert len({one.id for one in mended.buffer.messages}) == len(mended.buffer.messages)
