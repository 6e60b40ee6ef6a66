"""Bands: as wide as what is unknown, by kind of growth, learned from the session's own errors."""

import random

import pytest

from inspector.core.buffer import EMPTY_VIEW, Stretch
from inspector.core.message import Message, Text
from inspector.core.session import Request, Thread
from inspector.core.tokens.bands import LEAST, Bands, Growth
from inspector.core.tokens.pressure import Pressures, known_pressures
from inspector.core.usage import Usage

KINDS: tuple[Growth, ...] = ("first", "grew", "large", "turn", "cleared", "uncounted")


@pytest.mark.parametrize("kind", KINDS)
def test_room_grows_with_the_change(kind: Growth) -> None:
    bands = Bands()
    rooms = [bands.room(kind, change) for change in (0, 1_000, 10_000, 100_000)]
    assert rooms == sorted(set(rooms))
    assert rooms[0] >= LEAST


@pytest.mark.parametrize("kind", KINDS)
def test_room_of_a_session_holds_the_errors_that_it_makes(kind: Growth) -> None:
    """Of a session whose errors are spread as no other's: ten times smaller, ten times larger."""
    chance = random.Random(5)
    for size in (0.02, 0.2, 2.0):
        bands, inside, count = Bands(), 0, 0
        for n in range(400):
            change = chance.randrange(100, 3_000)
            error = round(chance.gauss(0, size) * (100 + change / 10))
            if n >= 100:
                inside += abs(error) <= bands.room(kind, change)
                count += 1
            bands.learn(kind, change, error)
        assert inside / count >= 0.9, size


def test_errors_of_one_kind_say_nothing_of_another() -> None:
    bands = Bands()
    before = bands.room("turn", 500)
    for _ in range(80):
        bands.learn("grew", 500, 0)
    assert bands.room("turn", 500) == before
    assert bands.room("grew", 500) < before


def test_copy_is_taught_by_itself() -> None:
    bands = Bands()
    bands.learn("grew", 500, 100)
    made, before = bands.copy(), bands.room("grew", 500)
    for _ in range(64):
        made.learn("grew", 500, 5_000)
    assert bands.room("grew", 500) == before < made.room("grew", 500)


def reported_only(*tokens: int) -> Pressures:
    """Of a thread of which nothing but reports is recorded."""
    requests = [Request(n, EMPTY_VIEW, usage=Usage(told)) for n, told in enumerate(tokens)]
    return known_pressures(Thread("main", requests=requests))


def test_growth_of_which_nothing_is_recorded_is_the_usual_one_within_a_band() -> None:
    found = reported_only(10_000, 11_000, 12_000, 13_000)
    last = found[3].predicted
    assert last is not None
    assert last.tokens == 13_000
    assert last.low < 12_000 < last.high
    assert found.end.tokens == 14_000
    assert found.end.band is not None
    low, high = found.end.band
    assert low < 13_000 < 14_000 < high


def test_nothing_but_a_first_report_has_a_band() -> None:
    end = reported_only(10_000).end
    assert end.tokens == 10_000
    assert end.band is not None
    assert end.band[0] < 10_000 < end.band[1]


def test_buffer_that_was_reported_and_did_not_change_has_no_band_to_speak_of() -> None:
    stretch = Stretch(own=[Message("m", "user", (Text("Fix it."),))])
    thread = Thread(
        "main", requests=[Request(0, stretch.view(), usage=Usage(900))], end=stretch.view()
    )
    assert known_pressures(thread).end.band == (900, 900)


def test_call_with_the_same_messages_has_a_band() -> None:
    stretch = Stretch(own=[Message("m", "user", (Text("Fix it."),))])
    requests = [Request(n, stretch.view(), usage=Usage(900)) for n in range(2)]
    told = known_pressures(Thread("main", requests=requests, end=stretch.view()))[1].predicted
    assert told is not None
    assert told.tokens == 900
    assert told.low < 900 < told.high


def test_messages_that_were_cleared_are_predicted_within_a_band() -> None:
    words = [Message(f"m{n}", "user", (Text(f"Line {n} of the text. " * 400),)) for n in range(4)]
    whole, cleared = Stretch(own=words), Stretch(own=[words[0], *words[2:]])
    requests = [
        Request(0, whole.view(), usage=Usage(20_000)),
        Request(1, cleared.view(), usage=Usage(17_000)),
    ]
    told = known_pressures(Thread("main", requests=requests, end=cleared.view()))[1].predicted
    assert told is not None
    assert told.low < told.tokens < told.high < 20_000 + (told.high - told.low)
