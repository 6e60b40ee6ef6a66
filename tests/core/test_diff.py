"""Alignment by id, and the diff of lines inside a message."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer
from inspector.core.diff import line_diff, rows
from inspector.core.message import Message, Text
from inspector.core.outcome import Outcome, fates
from inspector.core.tokens.estimators import estimator

LINES = st.lists(st.sampled_from(["a", "b", "", "中"]), max_size=12)


@given(LINES, LINES)
def test_line_diff_tells_both_texts(old: list[str], new: list[str]) -> None:
    runs = line_diff("\n".join(old), "\n".join(new))
    assert "\n".join(old) == "\n".join(
        line for run in runs if run.mark != "+" for line in run.lines
    )
    assert "\n".join(new) == "\n".join(
        line for run in runs if run.mark != "-" for line in run.lines
    )


@given(LINES, LINES)
def test_what_went_out_is_told_before_what_came_in(old: list[str], new: list[str]) -> None:
    marks = [run.mark for run in line_diff("\n".join(old), "\n".join(new))]
    assert not any(pair in ("+-", "++", "--") for pair in map("".join, pairwise(marks)))


def message(id: str, text: str) -> Message:  # noqa: A002
    return Message(id, "user", (Text(text),))


@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True),
    st.lists(st.sampled_from("abcdefghXY"), unique=True),
)
def test_fates_name_every_message_once(old: list[str], new: list[str]) -> None:
    shared = [one for one in old if one in new]
    new = sorted(n for n in new if n not in old) + shared  # a tier never reorders what it keeps
    before, after = (
        Buffer(tuple(message(o, o) for o in old)),
        Buffer(tuple(message(n, n) for n in new)),
    )
    found = fates(before, Outcome("t", after, None))
    assert sorted(fate.id for fate in found) == sorted({*old, *new})
    assert [f.id for f in found if f.after is not None] == new
    assert [f.id for f in found if f.before is not None] == old


def test_rows_add_up() -> None:
    roku = estimator("roku")
    before = Buffer((message("1", "x" * 400), message("2", "y" * 400), message("3", "z")))
    after = Buffer((message("1", "x" * 400), message("s", "short"), message("3", "Z")))
    outcome = Outcome("t", after, None, changed={"2": "summarised", "3": "cut"})
    table = rows(fates(before, outcome), roku)
    assert [row.fate.name for row in table] == ["kept", "summarised", "inserted", "cut"]
    total = sum(roku.weigh(m) for m in after.messages) - sum(roku.weigh(m) for m in before.messages)
    assert sum(row.delta for row in table) == total
