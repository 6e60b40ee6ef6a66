"""Pressure: which number is shown, of which kind, and that growing sessions are followed cheaply."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import EMPTY_VIEW, NOT_IN_FILE, Prompt, Stretch, View
from inspector.core.message import Message, Text, Thinking
from inspector.core.session import Compaction, Request, Thread
from inspector.core.tokens.calibration import Calibration
from inspector.core.tokens.estimators import buffer_tokens
from inspector.core.tokens.pressure import Pressures, compaction_sizes, is_prefix, thread_pressures
from inspector.core.tokens.roku import Roku
from inspector.core.usage import Usage

ROKU = Roku()
WHOLE = Prompt("", ())


def user(tokens: int) -> Message:
    """A message that weighs `tokens`, framing included."""
    return Message("u", "user", (Text("x" * 4 * (tokens - 4)),))


def stretch(*tokens: int, base: View | None = None) -> Stretch:
    return Stretch(base, [user(n) for n in tokens])


def thread(*asked: tuple[View, int | None], end: View = EMPTY_VIEW, prompt: Prompt = NOT_IN_FILE) -> Thread:
    """A request for each (view, reported tokens)."""
    requests = tuple(
        Request(n, view, prompt, None if told is None else Usage(input=told)) for n, (view, told) in enumerate(asked)
    )
    return Thread("main", requests=requests, end=end, prompt=prompt)


def shown(pressures: Pressures) -> list[tuple[str, int | None]]:
    return [(pressure.kind, pressure.tokens) for pressure in (*pressures, pressures.end)]


def test_reported_where_reported_else_reported_plus_what_came_since() -> None:
    one = stretch(100, 50, 30, 20)
    found = thread_pressures(thread((one.view(1), 150), (one.view(2), None), (one.view(3), 300), end=one.view()), ROKU)
    # the scale is 1.5 after the first call, (1.5 + 300/180) / 2 after the third
    assert shown(found) == [("reported", 150), ("calibrated", 150 + 75), ("reported", 300), ("calibrated", 300 + 32)]
    assert [(p.estimated, p.calibrated) for p in found] == [(100, 100), (150, 225), (180, 270)]


def test_estimated_before_the_first_report() -> None:
    one = stretch(100, 50)
    assert shown(thread_pressures(thread((one.view(1), None), end=one.view()), ROKU)) == [
        ("estimated", 100),
        ("estimated", 150),
    ]


def test_reported_numbers_do_not_cross_a_compaction() -> None:
    old, new = stretch(1000, 1000), stretch(50, 20)
    found = thread_pressures(thread((old.view(), 2500), (new.view(1), None), (new.view(2), 90), end=new.view()), ROKU)
    assert shown(found) == [("reported", 2500), ("estimated", 50), ("reported", 90), ("calibrated", 90)]


def test_what_stands_unchanged_below_an_edit_still_counts() -> None:
    old = stretch(100, 50, 50)
    edited = stretch(10, base=old.view(2))
    found = thread_pressures(thread((old.view(2), 150), (old.view(3), 200), end=edited.view()), ROKU)
    assert shown(found)[-1] == ("calibrated", 150 + 10)


def test_after_a_rewind_into_the_first_call_nothing_reported_stands() -> None:
    old = stretch(100, 50, 50)
    found = thread_pressures(thread((old.view(2), 150), end=old.view(1)), ROKU)
    assert shown(found)[-1] == ("estimated", 100)


def test_nothing_to_count_is_unknown() -> None:
    found = thread_pressures(thread((EMPTY_VIEW, None)), ROKU)
    assert shown(found) == [("unknown", None)] * 2


def test_not_in_file_is_what_the_file_lacks() -> None:
    one = stretch(100)
    (lacking,) = thread_pressures(thread((one.view(), 150)), ROKU)
    (whole,) = thread_pressures(thread((one.view(), 150), prompt=WHOLE), ROKU)
    (too_much,) = thread_pressures(thread((one.view(), 70)), ROKU)
    (silent,) = thread_pressures(thread((one.view(), None)), ROKU)
    assert [p.not_in_file for p in (lacking, whole, too_much, silent)] == [50, 0, 0, None]
    assert [p.over for p in (lacking, whole, too_much, silent)] == [0, 0, 30, 0]


def test_hidden_thinking_is_not_in_the_file_either() -> None:
    hidden = Stretch(own=[user(100), Message("a", "assistant", (Thinking("", "c2ln"),))])
    (found,) = thread_pressures(thread((hidden.view(), 150), prompt=WHOLE), ROKU)
    assert found.not_in_file == 150 - 104


def test_the_prompt_counts_as_far_as_the_file_holds_it() -> None:
    one = stretch(100)
    (found,) = thread_pressures(thread((one.view(), None), prompt=Prompt("x" * 40)), ROKU)
    assert found.estimated == 110


def test_the_event_is_sent_even_where_nothing_was_learned_r_cal_8() -> None:
    one = stretch(100)
    found = thread_pressures(thread((one.view(), 150), (one.view(), 0), (one.view(), None)), ROKU)
    assert [(e.step, e.estimated_prompt_tokens, e.prompt_tokens, e.scale) for e in found.events] == [
        (0, 100, 150, 1.5),
        (1, 150, 0, 1.5),
    ]
    assert found[1].kind == "calibrated"


@st.composite
def threads(draw: st.DrawFn) -> Thread:
    stretches = [Stretch()]
    asked: list[tuple[View, int | None]] = []
    for _ in range(draw(st.integers(0, 20))):
        match draw(st.sampled_from(["grow"] * 4 + ["fork", "fresh"])):
            case "fork":
                stretches.append(Stretch(stretches[-1].view(draw(st.integers(0, len(stretches[-1]))))))
            case "fresh":
                stretches.append(Stretch())
            case _:
                pass
        stretches[-1].append(user(draw(st.integers(4, 50))))
        asked.append((stretches[-1].view(), draw(st.none() | st.integers(0, 200))))
    return thread(*asked, end=stretches[-1].view())


@given(threads())
def test_against_the_slow_and_obvious_way(one: Thread) -> None:
    found = thread_pressures(one, ROKU)
    calibration = Calibration()
    for n, (request, pressure) in enumerate(zip(one.requests, found, strict=True)):
        raw = buffer_tokens(ROKU, request.view.messages())
        assert (pressure.estimated, pressure.calibrated) == (raw, calibration.apply(raw))
        told = request.usage.prompt if request.usage else 0
        assert (pressure.kind == "reported") == (told > 0)
        calibration = calibration.update(raw, told)
        assert found.calibrations[n] == calibration


@given(threads(), st.data())
def test_growing_gives_what_a_fresh_look_gives(one: Thread, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(one.requests)))
    shorter = Thread("main", requests=one.requests[:cut], end=EMPTY_VIEW)
    grown = thread_pressures(one, ROKU, thread_pressures(shorter, ROKU))
    assert grown == thread_pressures(one, ROKU)


def test_growing_looks_only_at_what_is_new() -> None:
    one = stretch(*[10] * 50)
    long = thread(*[(one.view(n), 20 * n) for n in range(1, 51)])
    former = thread_pressures(Thread("main", requests=long.requests[:40]), ROKU)
    grown = thread_pressures(long, ROKU, former)
    assert all(grown.standings[n] is former.standings[n] for n in range(40))


@given(threads())
def test_prefix_is_that_of_the_messages(one: Thread) -> None:
    views = [request.view for request in one.requests]
    for shorter, longer in pairwise(views):
        same = [id(m) for m in longer.messages()[: len(shorter)]] == [id(m) for m in shorter.messages()]
        assert is_prefix(shorter, longer) == (same and len(shorter) <= len(longer)) or len(shorter) == 0


@pytest.mark.parametrize(
    ("compaction", "sizes"),
    [
        (Compaction(1, "auto", tokens_before=990, tokens_after=10), (990, 300)),
        (Compaction(1, "auto"), (1000, 300)),
        (Compaction(2, "manual", tokens_after=70), (300, 70)),
        (Compaction(2, "manual"), (300, None)),
        (Compaction(0, "auto"), (None, 1000)),
    ],
)
def test_compaction_sizes(compaction: Compaction, sizes: tuple[int | None, int | None]) -> None:
    one = stretch(10)
    assert compaction_sizes(thread((one.view(), 1000), (one.view(), 300)), compaction) == sizes


class Watched(list[Message]):
    """A list that tells how many of its items were looked at."""

    seen = 0

    def __iter__(self) -> Iterator[Message]:
        for message in super().__iter__():
            self.seen += 1
            yield message

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        self.seen += len(found) if isinstance(index, slice) else 1
        return found


def test_each_message_is_weighed_by_looking_at_it_alone() -> None:
    one = stretch(*[10] * 200)
    one.own = watched = Watched(one.own)
    thread_pressures(thread(*[(one.view(n), 20) for n in range(1, 201)], prompt=WHOLE), ROKU)
    assert watched.seen <= 3 * 200  # once a kind of weight


class Rung(Stretch):
    """A stretch that tells how often it was asked what it stands on."""

    asked = 0

    def __getattribute__(self, name: str) -> Any:
        Rung.asked += name == "base"
        return super().__getattribute__(name)


def test_what_is_no_prefix_is_known_without_going_to_the_root() -> None:
    top: Stretch = Rung()
    for _ in range(1000):
        top.append(user(10))
        top = Rung(top.view())
    rewound = stretch(10, 10, base=top.view(990))
    Rung.asked = 0
    assert not is_prefix(rewound.view(), top.view())
    assert Rung.asked < 100


def test_thousands_of_requests_compare_print_and_go() -> None:
    one = stretch(10)
    long = thread(*[(one.view(), 20)] * 20_000)
    first, second = thread_pressures(long, ROKU), thread_pressures(long, ROKU)
    assert first == second
    assert "anchor" not in repr(first.standings[-1])
    del first, second
