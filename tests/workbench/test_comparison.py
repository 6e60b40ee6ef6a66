"""Which rows of a comparison are shown, and where its changes begin."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer, Stretch
from inspector.core.message import Message, Text
from inspector.core.outcome import FateName, Outcome
from inspector.core.session import Request, Thread
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.usage import Usage
from inspector.workbench.diff import (
    AROUND,
    FATES,
    Diff,
    Sides,
    change_places,
    compare_sides,
    list_stretches,
    rival,
)

SIZER = sizer(thread_pressures(Thread("main")), None)
GONE = {"k": None, "d": "dropped", "s": "summarised"}


def comparison(pattern: str) -> Diff:
    """One message a letter: k kept, c cleared, d dropped, s summarised."""
    old = [Message(str(n), "user", (Text(f"{letter} {n}"),)) for n, letter in enumerate(pattern)]
    new = [
        Message(m.id, "user", (Text("-"),)) if m.text[0] == "c" else m
        for m in old
        if m.text[0] in "kc"
    ]
    names: dict[str, FateName] = {"c": "cleared", "d": "dropped", "s": "summarised"}
    changed = {m.id: names[m.text[0]] for m in old if m.text[0] in names}
    outcome: Outcome[object] = Outcome("t", Buffer(tuple(new)), None, changed=changed)
    return compare_sides(Sides("t", Buffer(tuple(old)), outcome.buffer, SIZER, outcome=outcome))


def test_kept_ones_near_a_change_are_shown_and_the_rest_is_left_out() -> None:
    found = list_stretches(comparison("kkkkkckkkkk"), {"cleared"})
    assert found == [(0, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 11)]


def test_one_row_is_never_left_out() -> None:
    assert list_stretches(comparison("kkkc"), {"cleared"})[0] == (0, 1)


def test_what_is_not_wanted_is_left_out() -> None:
    assert list_stretches(comparison("ssskc"), {"cleared"}) == [(0, 3), (3, 4), (4, 5)]
    assert list_stretches(comparison("ssskc"), ()) == [(0, 5)]


def test_numbers_of_both_sides() -> None:
    found = comparison("ksck")
    assert (found.before, found.after) == ([0, 1, 2, 3], [0, -1, 1, 2])
    assert found.counts == {"kept": 2, "cleared": 1, "summarised": 1}


def test_numbers_of_both_sides_where_messages_moved_are_their_places_in_the_buffers() -> None:
    old = [Message(str(n), "user", (Text("x"),)) for n in range(4)]
    new = [old[2], Message("new", "user", (Text("y"),)), old[0], old[3]]
    outcome: Outcome[object] = Outcome("t", Buffer(tuple(new)), None)
    found = compare_sides(Sides("t", Buffer(tuple(old)), outcome.buffer, SIZER, outcome=outcome))
    for row, before, after in zip(found.rows, found.before, found.after, strict=True):
        assert before == (old.index(row.fate.before) if row.fate.before else -1)
        assert after == (new.index(row.fate.after) if row.fate.after else -1)


def test_what_stands_in_for_others_comes_before_them() -> None:
    old = [Message(str(n), "user", (Text("x"),)) for n in range(4)]
    new = [old[0], Message("s", "user", (Text("sum"),), summary=True), old[3]]
    outcome: Outcome[object] = Outcome(
        "t", Buffer(tuple(new)), None, changed={"1": "summarised", "2": "summarised"}
    )
    found = compare_sides(Sides("t", Buffer(tuple(old)), outcome.buffer, SIZER, outcome=outcome))
    assert [row.fate.id for row in found.rows] == ["0", "s", "1", "2", "3"]
    assert (found.before, found.after) == ([0, -1, 1, 2, 3], [0, 1, -1, -1, 2])
    assert found.places == {"0": 0, "s": 1, "1": 2, "2": 3, "3": 4}


def test_neighbours_of_one_fate_are_one_change() -> None:
    found = comparison("kccsskkc")
    assert change_places(found, list_stretches(found, FATES)) == [1, 3, 7]


@given(st.text("kcds", max_size=40), st.sets(st.sampled_from(FATES)))
def test_every_row_is_shown_or_left_out_once_and_in_order(
    pattern: str, wanted: set[FateName]
) -> None:
    found = comparison(pattern)
    listed = list_stretches(found, wanted)
    assert [at for start, end in listed for at in range(start, end)] == list(range(len(pattern)))
    alone = {start for start, end in listed if end - start == 1}
    assert {at for at, row in enumerate(found.rows) if row.fate.name in wanted} <= alone
    for start, end in listed:
        if end - start > 1:
            assert not any(found.rows[at].fate.name in wanted for at in range(start, end))
            near = range(max(0, start - AROUND), start)
            assert not any(
                found.rows[at].fate.name in wanted - {"kept"}
                and found.rows[start].fate.name == "kept"
                for at in near
            )


def test_two_summaries_of_the_same_messages_are_rivals() -> None:
    first, last = Message("0", "user", (Text("x"),)), Message("9", "user", (Text("y"),))
    one = Message("a", "user", (Text("Goal: this"),), summary=True)
    other = Message("b", "user", (Text("Goal: that"),), summary=True)
    outcome: Outcome[object] = Outcome("t", Buffer((first, other, last)), None)
    found = compare_sides(
        Sides("t", Buffer((first, one, last)), outcome.buffer, SIZER, outcome=outcome)
    )
    assert [row.fate.name for row in found.rows] == ["kept", "inserted", "dropped", "kept"]
    assert [rival(found, at) for at in range(4)] == [None, one, other, None]


def test_a_summary_of_plain_messages_has_no_rival() -> None:
    found = comparison("kssk")
    assert [rival(found, at) for at in range(4)] == [None] * 4


@given(st.text("kcds", max_size=40), st.integers(100, 60_000))
def test_the_rows_add_up_to_what_the_next_prompt_would_be_smaller_by(
    pattern: str, reported: int
) -> None:
    told = comparison(pattern).sides
    stretch = Stretch(own=told.before.messages)
    recorded = Thread(
        "main",
        requests=[Request(0, stretch.view(), usage=Usage(input=reported))],
        end=stretch.view(),
    )
    size = sizer(thread_pressures(recorded), 0)
    found = compare_sides(replace(told, sizer=size))
    assert found.delta == size.tokens(told.after) - size.tokens(told.before) <= 0
    assert size.tokens(told.before) == (reported if pattern else size.scale.unseen)
    assert all(row.delta == 0 for row in found.rows if row.fate.name == "kept")
