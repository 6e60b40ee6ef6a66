"""The feeder: the same values, numbers and problems whatever pieces the bytes come in."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.jsontext import NotJson, dumped, loads
from inspector.core.session import Problem
from inspector.transcripts.feeder import Feeder, RepeatedList

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


def fed(pieces: list[bytes]) -> tuple[list[tuple[int, Any]], list[Problem], int]:
    taken: list[tuple[int, Any]] = []
    feeder = Feeder("f")
    for piece in pieces:
        taken += feeder.read(piece)
    taken += feeder.finish()
    return taken, feeder.problems, feeder.line


@given(st.lists(LINES, max_size=8).map(b"".join), st.lists(st.integers(0, 80), max_size=6))
def test_pieces_do_not_matter(data: bytes, cuts: list[int]) -> None:
    at = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[a:b] for a, b in itertools.pairwise(at)]
    assert b"".join(pieces) == data
    assert fed(pieces) == fed([data]) == fed([data[n : n + 1] for n in range(len(data))])


def test_what_grows_is_fed_line_by_line() -> None:
    """As in following: a line is fed as soon as its newline is there, not before."""
    feeder = Feeder()
    assert list(feeder.read(b'{"a"')) == []
    assert list(feeder.read(b':1}\n{"b":2}')) == [(1, {"a": 1})]
    assert list(feeder.read(b"\n")) == [(2, {"b": 2})]
    assert not feeder.problems


PAD = b" " * (1 << 14)


@pytest.mark.parametrize(
    "lists",
    [
        (b"1", b"1,2", b"1,2", b"1,2,3", b"", b"4", b"4,5"),
        (b"1,2", b"3,2,4", b"3,2,4,5"),
        (b"1,9", b"1,9", b"1,9,4"),  # as another list of the line
        (b"1", b"12", b"1,2", b"1 ,2,3"),
        (b"  1,2", b"  1,7"),  # not written as we write it: nobody knows where it ends
        (b"1.50", b"1.50,2", b"-0", b"-0,1"),
        (b"1", b"1,NaN", b"1,NaN,2"),
        (
            b"1",
            b"1,1e999",
            b'1,"\\ud800"',
            b'1,"\xff"',
            b"1,\0",
            b"1," + b"[" * 210 + b"]" * 210,
            b"1,",
            b"1]",
        ),
        (b'"\\u0061"', b'"\\u0061",1', b'{"a":1,"a":2}', b'{"a":1,"a":2},3'),
        (b'{"list":[1]}', b'{"list":[1]},{"list":[2]}', b'{"list":[1]},{"list":[2]},3'),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        b'{"data":{"list":[%b],"z":1}}',
        b'{"a":{"list":[%b]},"data":{"list":[1,9]}}',
        b'{"data":{"list":[%b],"list":[1]}}',
        b'{"data":{"list":[%b],"l\\u0069st":[1]}}',
        b'{"data":"list","list":[%b]}',
        b'["list":[%b]]',
    ],
)
def test_a_repeated_list_is_read_as_any_other(lists: Sequence[bytes], form: bytes) -> None:
    """Whatever stands around and in it, damaged or not."""
    parser = RepeatedList(("data", "list"))
    for one in lists:
        line = form % one + PAD
        assert parsed(parser.parse, line) == parsed(loads, line)


def parsed(parse: Any, line: bytes) -> tuple[str, list[str]]:
    told: list[str] = []
    try:
        return repr(parse(line, told)), told
    except NotJson as why:
        return f"not JSON: {why}", told


def test_what_is_repeated_is_parsed_once() -> None:
    parser = RepeatedList(("data", "list"))
    lines = [
        dumped({"data": {"list": [{"n": n} for n in range(count)]}}) + PAD
        for count in (2, 2, 5, 0, 3)
    ]
    two, same, five, none, three = (parser.parse(line, [])["data"]["list"] for line in lines)
    assert [len(one) for one in (two, same, five, none, three)] == [2, 2, 5, 0, 3]
    assert two[1] is same[1] is five[1]
    assert three[1] is not five[1]
