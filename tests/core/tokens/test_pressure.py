"""Pressure: which number is shown, of which kind, and that growing sessions are followed cheaply."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from threading import Event
from threading import Thread as SystemThread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import EMPTY_VIEW, NOT_IN_FILE, Prompt, Stretch, Tool, View, is_prefix
from inspector.core.message import Message, Text
from inspector.core.session import Attached, Compaction, Request, Thread
from inspector.core.tokens.believing import known_counts
from inspector.core.tokens.estimators import buffer_tokens, estimator, prompt_tokens
from inspector.core.tokens.harnesses import Roku
from inspector.core.tokens.prediction import prior
from inspector.core.tokens.pressure import Pressures, known_pressures, thread_pressures
from inspector.core.usage import Usage

ROKU = Roku()
WHOLE = Prompt("", ())


def user(tokens: int) -> Message:
    """A message that weighs `tokens`, framing included."""
    return Message("u", "user", (Text("x" * 4 * (tokens - 4)),))


def stretch(*tokens: int, base: View | None = None) -> Stretch:
    return Stretch(base, [user(n) for n in tokens])


def thread(
    *asked: tuple[View, int | None], end: View = EMPTY_VIEW, prompt: Prompt = NOT_IN_FILE
) -> Thread:
    """A request for each (view, reported tokens)."""
    requests = tuple(
        Request(n, view, prompt, None if told is None else Usage(input=told))
        for n, (view, told) in enumerate(asked)
    )
    return Thread("main", requests=requests, end=end, prompt=prompt)


def shown(pressures: Pressures) -> list[tuple[str, int | None]]:
    return [(pressure.kind, pressure.tokens) for pressure in (*pressures, pressures.end)]


def test_reported_where_reported_else_reported_plus_what_came_since() -> None:
    one = stretch(100, 50, 30, 20)
    found = thread_pressures(
        thread((one.view(1), 150), (one.view(2), None), (one.view(3), 300), end=one.view()), ROKU
    )
    slope = prior("roku", "")
    learned = slope  # what is expected weighs more than 80 tokens of growth
    assert shown(found) == [
        ("reported", 150),
        ("predicted", 150 + round(50 * slope)),
        ("reported", 300),
        ("predicted", 300 + round(20 * learned)),
    ]
    assert [p.counted for p in found] == [100, 150, 180]


def test_the_recorded_output_is_the_size_of_the_answer() -> None:
    one = stretch(100)
    for message in (Message("a", "assistant", (Text("x" * 400),)), user(40)):
        one.append(message)
    requests = (Request(0, one.view(1), usage=Usage(input=150, output=77)),)
    found = thread_pressures(Thread("main", requests=requests, end=one.view()), ROKU)
    assert found.end.tokens == 150 + 77 + round(40 * prior("roku", ""))
    draft = replace(requests[0], usage=Usage(input=150, output=1, output_is_final=False))
    found = thread_pressures(Thread("main", requests=(draft,), end=one.view()), ROKU)
    assert found.end.tokens == 150 + round(144 * prior("roku", ""))


@pytest.mark.parametrize(("by", "kind"), [("roku", "estimated"), ("tiktoken", "counted")])
def test_before_the_first_report_it_is_counted_or_estimated(by: str, kind: str) -> None:
    one = stretch(100, 50)
    found = thread_pressures(thread((one.view(1), None), end=one.view()), estimator(by))
    assert [name for name, _ in shown(found)] == [kind, kind]
    assert [p.tokens for p in found] == [round(prior(by, "") * p.counted) for p in found]


def test_the_unseen_part_stands_behind_a_compaction() -> None:
    old, new = stretch(1000, 2000, 1000), stretch(50, 20)
    asked = ((old.view(1), 21_000), (old.view(2), 24_000), (new.view(1), None))
    found = thread_pressures(thread(*asked, end=new.view()), ROKU)
    # 1.5 reported tokens for a counted one: 19,500 of the first request stand in no message
    assert [found.scale(n).unseen for n in (0, 1)] == [19_500, 19_500]
    assert shown(found)[2:] == [("predicted", 19_500 + 75), ("predicted", 19_500 + 105)]


def test_a_fall_while_the_buffer_only_grew_is_the_unseen_parts() -> None:
    one = stretch(1000, 2000, 100, 100)
    asked = [
        (one.view(n), told) for n, told in ((1, 41_000), (2, 44_000), (3, 24_150), (4, 24_300))
    ]
    found = thread_pressures(thread(*asked, end=one.view()), ROKU)
    unseen = [found.scale(n).unseen for n in range(4)]
    assert unseen == [39_500, 39_500, 19_500, 19_500]
    assert found.end.tokens == 24_300


def test_an_unchanged_buffer_keeps_its_number() -> None:
    one = stretch(100, 50)
    found = thread_pressures(
        thread((one.view(1), 7_150), (one.view(2), 7_300), end=one.view()), ROKU
    )
    assert shown(found)[-1] == ("predicted", 7_300)
    assert found.end.band == (7_300, 7_300)
    for at in (0, 1, None):
        assert found.scale(at).tokens(found.at(at).counted) == found.at(at).tokens


def test_what_the_client_attaches_anew_is_expected_within_a_band() -> None:
    old, new = stretch(1000, 2000), stretch(50)
    asked = ((old.view(1), 21_000), (old.view(2), 24_000), (new.view(), None))
    compaction = Compaction(2, "auto", attached=Attached(9_300, -100, 27_000))
    found = thread_pressures(replace(thread(*asked), compactions=(compaction,)), ROKU)
    predicted = found[2].predicted
    assert predicted is not None
    assert predicted.tokens == 19_500 + 75 + 9_300
    assert predicted.low < 19_575
    assert predicted.high >= 19_575 + 27_000


def test_nothing_to_count_is_unknown() -> None:
    found = thread_pressures(thread((EMPTY_VIEW, None)), ROKU)
    assert shown(found) == [("unknown", None)] * 2


def test_where_the_file_holds_the_prompt_it_is_counted_and_the_unseen_part_is_what_is_left() -> (
    None
):
    one = stretch(100)
    prompt = Prompt("x" * 400, (Tool("Bash", {"name": "Bash", "description": "d" * 300}),))
    (without,) = thread_pressures(thread((one.view(), None)), ROKU)
    (whole,) = thread_pressures(thread((one.view(), None), prompt=prompt), ROKU)
    assert whole.counted == without.counted + sum(prompt_tokens(ROKU, prompt))
    assert prompt_tokens(ROKU, prompt)[1] > 80, (
        "tools count, though Roku's own rule leaves them out"
    )
    lacking = thread_pressures(thread((one.view(), 9_000)), ROKU)
    holding = thread_pressures(thread((one.view(), 9_000), prompt=prompt), ROKU)
    assert holding.scale(0).unseen < lacking.scale(0).unseen


def test_an_estimate_that_is_too_high_leaves_nothing_unseen() -> None:
    one = stretch(1000)
    found = thread_pressures(thread((one.view(), 70)), ROKU)
    assert found.scale(0).unseen == 0
    assert found.scale(0).tokens(1000) == 70


@st.composite
def threads(draw: st.DrawFn) -> Thread:
    stretches = [Stretch()]
    asked: list[tuple[View, int | None]] = []
    for _ in range(draw(st.integers(0, 20))):
        match draw(st.sampled_from(["grow"] * 4 + ["fork", "fresh"])):
            case "fork":
                stretches.append(
                    Stretch(stretches[-1].view(draw(st.integers(0, len(stretches[-1])))))
                )
            case "fresh":
                stretches.append(Stretch())
            case _:
                pass
        stretches[-1].append(user(draw(st.integers(4, 50))))
        asked.append((stretches[-1].view(), draw(st.none() | st.integers(0, 200))))
    return thread(*asked, end=stretches[-1].view())


@given(threads())
def test_every_number_is_reported_or_follows_from_what_was_reported_before(one: Thread) -> None:
    found = thread_pressures(one, ROKU)
    for n, (request, pressure) in enumerate(zip(one.requests, found, strict=True)):
        told = request.usage.prompt if request.usage else 0
        known = any(earlier.usage and earlier.usage.prompt for earlier in one.requests[:n])
        assert pressure.counted == buffer_tokens(ROKU, request.view.messages())
        assert pressure.kind == ("reported" if told else "predicted" if known else "estimated")
        assert (pressure.predicted is not None) == known
        scale = found.scale(n)
        assert scale.tokens(pressure.counted) == pressure.tokens
        assert 0 <= scale.unseen <= (pressure.tokens or 0)
        shorter = Thread("main", requests=one.requests[: n + 1], end=EMPTY_VIEW)
        assert thread_pressures(shorter, ROKU)[n] == pressure, "a prediction never knows what comes"


@given(threads(), st.data())
def test_growing_gives_what_a_fresh_look_gives(one: Thread, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(one.requests)))
    shorter = Thread("main", requests=one.requests[:cut], end=EMPTY_VIEW)
    former, again = thread_pressures(shorter, ROKU), replace(one, id="another")
    known_counts(shorter, ROKU)
    for _ in range(2):  # the second time the former one has been led on already
        grown, fresh = thread_pressures(one, ROKU, former), thread_pressures(one, ROKU)
        assert (*grown, grown.end) == (*fresh, fresh.end)
        places = [*range(len(fresh)), None]
        assert [grown.scale(at) for at in places] == [fresh.scale(at) for at in places]
        assert [known_counts(one, ROKU).at(at) for at in places] == [
            known_counts(again, ROKU).at(at) for at in places
        ]


def test_growing_looks_only_at_what_is_new() -> None:
    one = stretch(*[10] * 50)
    long = thread(*[(one.view(n), 20 * n) for n in range(1, 51)])
    former = thread_pressures(Thread("main", requests=long.requests[:40]), ROKU)
    grown = thread_pressures(long, ROKU, former)
    assert all(grown[n] is former[n] for n in range(39))
    assert grown[39] == former[39]


def test_growing_when_the_last_request_is_another_one_keeps_those_before_it() -> None:
    one = stretch(*[10] * 50)
    long = thread(*[(one.view(n), 20 * n) for n in range(1, 51)])
    on_its_way = replace(long.requests[39], usage=None)
    former = thread_pressures(Thread("main", requests=[*long.requests[:39], on_its_way]), ROKU)
    grown = thread_pressures(long, ROKU, former)
    assert all(grown[n] is former[n] for n in range(39))
    assert [*grown, grown.end] == [*thread_pressures(long, ROKU), thread_pressures(long, ROKU).end]


@given(threads())
def test_prefix_is_that_of_the_messages(one: Thread) -> None:
    views = [request.view for request in one.requests]
    for shorter, longer in pairwise(views):
        same = [id(m) for m in longer.messages()[: len(shorter)]] == [
            id(m) for m in shorter.messages()
        ]
        assert (
            is_prefix(shorter, longer) == (same and len(shorter) <= len(longer))
            or len(shorter) == 0
        )


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
    one._more = watched = Watched(one.own)
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


class Listed(list[Compaction]):
    """A list that tells how often one of its items was looked at."""

    seen = 0

    def __getitem__(self, index: Any) -> Any:
        self.seen += 1
        return super().__getitem__(index)

    def __reversed__(self) -> Iterator[Compaction]:
        for compaction in super().__reversed__():
            self.seen += 1
            yield compaction


def test_the_compaction_before_a_request_is_found_without_looking_at_the_later_ones() -> None:
    one = stretch(*[10] * 1000)
    compactions = Listed(Compaction(n, "auto", "micro") for n in range(1, 1000))
    many = replace(thread(*[(one.view(n), 20) for n in range(1, 1001)]), compactions=compactions)
    thread_pressures(many, ROKU)
    assert compactions.seen < 1000 * 60


def test_each_estimator_goes_on_from_where_it_was_when_a_thread_grows() -> None:
    line = stretch(*[10] * 6)
    asked = [(line.view(n), 100 + n) for n in range(1, 7)]
    shorter, longer = thread(*asked[:3]), thread(*asked)
    longer = replace(longer, requests=[*shorter.requests, *longer.requests[3:]])
    before = {by: known_pressures(shorter, estimator(by)) for by in ("roku", "pi")}
    for by, former in before.items():
        assert known_pressures(longer, estimator(by))._known[:3] == former._known
        assert known_pressures(longer, estimator(by))._known[0] is former._known[0]


def test_what_is_known_waits_for_nobody_who_works_out_another() -> None:
    line = stretch(100)
    known, other = thread((line.view(), 400)), thread((stretch(7).view(), 90))
    first = known_pressures(known, Roku())
    begun, on = Event(), Event()

    class Slow(Roku):
        name = "slow"

        def weigh(self, message: Message) -> int:
            begun.set()
            on.wait(60)
            return 1

    busy = SystemThread(target=known_pressures, args=(replace(other, id="another"), Slow()))
    found: list[Pressures] = []
    asking = SystemThread(target=lambda: found.append(known_pressures(known, Roku())))
    busy.start()
    try:
        assert begun.wait(60)
        asking.start()
        asking.join(30)
        assert found == [first]
    finally:
        on.set()
        busy.join()
        asking.join()
