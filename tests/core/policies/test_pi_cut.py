"""Pi's cut point and preparation of a compaction."""

from dataclasses import replace

import pytest

from inspector.core.message import Message
from inspector.core.policies.pi.context_size import make_summary_message, read_summary
from inspector.core.policies.pi.entries import (
    CutPoint,
    Entry,
    Preparation,
    entries_of,
    find_cut_point,
    prepare,
)
from inspector.core.policies.pi.rules import NEWEST, SEED
from tests.core.policies.build import assistant, result, user
from tests.core.policies.pi_entries import entries


@pytest.mark.parametrize(
    ("name", "signs", "start", "keep", "expected"),
    [
        ("the last two reach it", "U A U A", 0, 150, CutPoint(2)),
        ("the last one reaches it", "U A U A", 0, 100, CutPoint(3, 2, True)),
        ("one token more than the last one", "U A U A", 0, 101, CutPoint(2)),
        ("results are no cut", "U A T T A", 0, 250, CutPoint(4, 0, True)),
        ("never reached", "U A U A", 0, 500, CutPoint(0)),
        ("metadata stays with what follows", "U A mc tl U A", 0, 150, CutPoint(2, 0, True)),
        ("after a compaction", "U A C mc U A", 3, 150, CutPoint(3)),
        ("no entries", "", 0, 100, CutPoint(0)),
        ("only metadata", "mc", 0, 100, CutPoint(0)),
        ("a command of the user", "U A B", 0, 100, CutPoint(2, 2, True)),
        ("only results", "T T", 0, 100, CutPoint(0)),
        ("keep nothing", "U A U A", 0, 0, CutPoint(3, 2, True)),
        ("a long turn of calls", "U A T A T A T A T", 0, 250, CutPoint(7, 0, True)),
        ("results at the end keep all", "U A T", 0, 100, CutPoint(0)),
        ("a custom message counts nothing", "U A CM U A", 0, 250, CutPoint(1, 0, True)),
        ("a custom message opens a turn", "U A CM A A", 0, 200, CutPoint(2, 2, True)),
        ("a branch summary opens a turn", "U A BS A A", 0, 100, CutPoint(4, 2, True)),
        ("bash counts command and output", "U A B U A", 0, 300, CutPoint(2, 2, True)),
    ],
)
def test_cut_point_of_the_older_rules_is_as_specified(
    name: str, signs: str, start: int, keep: int, expected: CutPoint
) -> None:
    found = entries(signs)
    assert find_cut_point(found, start, len(found), keep) == expected


def as_entries(*messages: Message) -> list[Entry]:
    return entries_of(messages, "")


TOGETHER = replace(SEED, keeps_results_with_calls=True)


@pytest.mark.parametrize(
    ("name", "signs", "start", "keep", "expected"),
    [
        ("as ever", "U A U A", 0, 150, CutPoint(2)),
        ("results at the end stay with their answer", "U A T1000", 0, 500, CutPoint(1, 0, True)),
        ("and not all that came before", "U A T U A T T1000", 0, 500, CutPoint(4, 3, True)),
        ("metadata is still a split", "U A mc tl U A", 0, 150, CutPoint(2, 0, True)),
        ("bash starts a turn", "U A B", 0, 100, CutPoint(2)),
        ("a custom message starts one and counts", "U A CM A A", 0, 300, CutPoint(2)),
        ("and so does a branch summary", "U A BS200 A", 0, 300, CutPoint(2)),
        (
            "metadata goes no further than what is shown",
            "U CM mc A U",
            0,
            150,
            CutPoint(2, 1, True),
        ),
    ],
)
def test_the_newest_cuts_by_what_is_shown(
    name: str, signs: str, start: int, keep: int, expected: CutPoint
) -> None:
    found = entries(signs)
    assert find_cut_point(found, start, len(found), keep, rules=NEWEST) == expected


def test_only_safe_mode_keeps_a_call_with_its_result_whatever_came_between() -> None:
    found = as_entries(
        user("x"), assistant("", ("c", "read", {})), user("y" * 400), result("c", "z" * 400)
    )
    assert find_cut_point(found, 0, 4, 150) == CutPoint(2)
    assert find_cut_point(found, 0, 4, 150, rules=TOGETHER).first_kept == 0


def test_safe_mode_cuts_nowhere_between_a_call_and_its_result() -> None:
    """In Pi's sessions an answer is one message; where another harness wrote two, both stay with the results."""
    calls = [assistant("", (f"c{n}", "read", {})) for n in range(2)]
    found = as_entries(
        user("x"), assistant("x" * 400), *calls, result("c0", "x" * 400), result("c1", "y" * 400)
    )
    cuts = [
        find_cut_point(found, 0, len(found), keep, rules=TOGETHER).first_kept
        for keep in (250, 204, 203, 202)
    ]
    # 202 is reached with the second call: nothing may open there or behind it.
    assert cuts == [1, 2, 2, 0]
    more = [*found, *as_entries(assistant("z" * 400))]
    assert find_cut_point(more, 0, len(more), 150, rules=TOGETHER) == CutPoint(6, 0, True)
    assert find_cut_point(more, 0, len(more), 10_000, rules=TOGETHER).first_kept == 0


def test_an_open_call_of_the_newest_answer_is_not_summarised() -> None:
    parts = [
        assistant("", ("c0", "read", {"path": "x" * 400})),
        assistant("", ("c1", "read", {"path": "y" * 400})),
    ]
    found = as_entries(user("x"), *parts)
    assert find_cut_point(found, 0, 3, 10).first_kept == 0
    # It was given up.
    assert find_cut_point(as_entries(user("x"), *parts, user("on")), 0, 4, 60).first_kept == 2


def test_a_call_whose_result_is_still_to_come_is_not_summarised() -> None:
    found = as_entries(
        user("x"), assistant("", ("c0", "wait", {})), user("y" * 400), assistant("z" * 400)
    )
    assert find_cut_point(found, 0, 4, 100).first_kept == 3
    assert find_cut_point(found, 0, 4, 100, {"c0"}).first_kept == 0


# --- prepareCompaction


def prepared(signs: str, keep: int = 150, legacy: bool = False) -> Preparation | None:
    return prepare(entries(signs), keep, legacy_start=legacy)


def sizes(found: Preparation | None) -> tuple[str, int, int, int, bool]:
    assert found is not None
    return (
        found.first_kept,
        len(found.to_summarise),
        len(found.turn_prefix),
        len(found.kept),
        found.split,
    )


def test_preparation_when_no_turn_is_split_has_no_prefix() -> None:
    assert sizes(prepared("U A U A")) == ("e2", 2, 0, 2, False)


@pytest.mark.parametrize("signs", ["U A C0", ""])
def test_preparation_when_the_last_entry_is_a_compaction_is_none(signs: str) -> None:
    assert prepared(signs) is None


def test_preparation_when_a_result_exceeds_keep_is_none_but_for_the_legacy_start() -> None:
    assert sizes(prepared("U10 A10 T1000", 500, legacy=True)) == ("e0", 0, 0, 3, False)
    assert prepared("U10 A10 T1000", 500) is None


def test_preparation_after_a_compaction_summarises_what_that_kept() -> None:
    signs = "U A U A C2 U A U A"
    now, legacy = prepared(signs), prepared(signs, legacy=True)
    assert sizes(now) == ("e7", 4, 0, 2, False)
    assert sizes(legacy) == ("e7", 2, 0, 2, False)
    assert now is not None
    assert legacy is not None
    assert now.previous_summary == legacy.previous_summary == "OLD"
    assert len(legacy.lost) == 4


def test_a_first_kept_entry_without_id_is_nothing() -> None:
    found = [Entry(one.kind, "", one.message) for one in entries("U A U A")]
    assert prepare(found, 150) is None


def test_the_bash_quirk_leaves_the_prefix_empty() -> None:
    assert sizes(prepared("U A B", 100)) == ("e2", 2, 0, 1, True)


# --- a buffer as entries


def test_the_compaction_stands_behind_what_it_kept() -> None:
    summary = make_summary_message("S", ())
    kept, new = [user("a"), assistant("b")], [user("c")]
    found = entries_of([summary, *kept, *new], kept[-1].id)
    assert [one.kind for one in found] == ["message", "message", "compaction", "message"]
    assert found[2].first_kept == kept[0].id
    assert [one.kind for one in entries_of([summary, *kept], "")] == [
        "compaction",
        "message",
        "message",
    ]


def test_kinds_of_a_buffer() -> None:
    branch = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\nS</summary>"
    said = [user("a"), user("note"), user(branch), assistant("b"), result("c", "d")]
    marked = [
        Message(m.id, m.role, m.parts, mark="meta") if n in (1, 2) else m
        for n, m in enumerate(said)
    ]
    kinds = ["message", "custom_message", "branch_summary", "message", "message"]
    assert [one.kind for one in entries_of(marked, "")] == kinds


def test_the_summary_comes_back_out_of_its_message() -> None:
    message = make_summary_message("text\n\n</summary>", [user("x")])
    assert read_summary(message) == "text\n\n</summary>"
    assert read_summary(user("another harness's summary")) == "another harness's summary"
