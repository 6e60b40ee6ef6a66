"""The feeder: the same values, numbers and problems whatever pieces the bytes come in."""

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inspector.core.session import Problem
from inspector.transcripts.feeder import Feeder

LINES = st.sampled_from(
    [
        b'{"a":1}\n',
        b"[]\n",
        b"bad\n",
        b"\n",
        b"\r\n",
        b"\0\0\0{}\n",
        b'{"a":1}{"b":2}\n',
        b'{"torn',
        b'"\xc3\xa4"\n',
        b"7",
    ]
)


def fed(pieces: list[bytes]) -> tuple[list[tuple[int, Any, str]], list[Problem], int]:
    taken: list[tuple[int, Any, str]] = []
    feeder = Feeder(lambda line, value, file: taken.append((line, value, file)), "f")
    for piece in pieces:
        feeder.feed_bytes(piece)
    feeder.finish()
    return taken, feeder.problems, feeder.line


@given(st.lists(LINES, max_size=8).map(b"".join), st.lists(st.integers(0, 80), max_size=6))
def test_pieces_do_not_matter(data: bytes, cuts: list[int]) -> None:
    at = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[a:b] for a, b in itertools.pairwise(at)]
    assert b"".join(pieces) == data
    assert fed(pieces) == fed([data]) == fed([data[n : n + 1] for n in range(len(data))])


def test_what_grows_is_fed_line_by_line() -> None:
    """As in following: a line is fed as soon as its newline is there, not before."""
    taken: list[Any] = []
    feeder = Feeder(lambda line, value, file: taken.append((line, value)))
    feeder.feed_bytes(b'{"a"')
    assert taken == []
    feeder.feed_bytes(b':1}\n{"b":2}')
    assert taken == [(1, {"a": 1})]
    feeder.feed_bytes(b"\n")
    assert taken == [(1, {"a": 1}), (2, {"b": 2})]
    assert not feeder.problems
