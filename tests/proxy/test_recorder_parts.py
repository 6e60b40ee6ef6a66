"""The small parts of the recorder: its tape, its records, what it unpacks."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.dialects.decoding import decoded
from inspector.proxy.record.lines import is_over
from inspector.proxy.record.records import (
    LARGEST,
    Budget,
    CapturedBody,
    PlainRecord,
    Record,
    RequestHead,
    RequestRecord,
    ResponseRecord,
    SentRecord,
)
from inspector.proxy.record.writer import received

# -- small parts -------------------------------------------------------------------------------------------------------


def test_a_tape_is_bounded() -> None:
    budget = Budget(1_000)
    one, other = CapturedBody(budget), CapturedBody(budget)
    one.add(b"x" * 600)
    other.add(b"y" * 600)
    assert (other.size, other.join(), bool(other.left_out)) == (600, b"", True)
    assert one.join() == b"x" * 600
    one.free()
    third = CapturedBody(budget)
    third.add(b"z" * 900)
    assert third.join() == b"z" * 900
    large = CapturedBody(Budget())
    for _ in range(66):
        large.add(b"x" * 1_000_000)
    assert large.size > LARGEST
    assert large.left_out


RECORDS: list[Record] = [
    RequestRecord(
        RequestHead(3, 2, "http", "POST", "/ü", "t", (("A", "é"), ("b", ""))),
        CapturedBody.of([b"ab", b"c"], 3, ""),
    ),
    SentRecord(1.0, 3, CapturedBody.of([b""], 0, "")),
    ResponseRecord(
        1.0, 3, 101, (), 0.5, 2.0, CapturedBody.of([b"one", b"", b"three"], 8, ""), "complete"
    ),
    ResponseRecord(1.0, 3, 101, (), 0.5, 2.0, CapturedBody.of([], 9, "too large"), "failed", "why"),
    PlainRecord.now("note", what="words"),
]


def vars_of(record: object) -> dict[str, Any]:
    """The fields of a record."""
    return {name: getattr(record, name) for name in getattr(type(record), "__slots__", ())}


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_arrives_as_it_was_sent(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "pipe"
    pieces: list[pickle.PickleBuffer] = []
    data = pickle.dumps(record, protocol=5, buffer_callback=pieces.append)
    sent = pickle.dumps([len(piece.raw()) for piece in pieces]) + b"".join(pieces) + data
    path.write_bytes(sent * 2)
    with path.open("rb") as file:
        for _ in range(2):
            got = received(file)
            assert type(got) is type(record)
            if not isinstance(record, PlainRecord):
                body, came = vars_of(got)["body"], vars_of(record)["body"]
                assert (body.join(), body.size, body.left_out) == (
                    came.join(),
                    came.size,
                    came.left_out,
                )
            if isinstance(record, RequestRecord) and isinstance(got, RequestRecord):
                assert got.head == record.head
        assert received(file) is None
    path.write_bytes(sent[:-1])
    with path.open("rb") as file:
        assert received(file) is None


@given(
    st.binary(max_size=200),
    st.sampled_from(["gzip", "br", "zstd", "deflate", "gzip, br", "strange", "identity"]),
)
def test_whatever_is_said_to_be_packed(data: bytes, encoding: str) -> None:
    """Nothing breaks."""
    found = decoded(data, encoding)
    assert found.data == data or not found.undecoded


def test_a_small_body_that_unpacks_to_a_huge_one(tmp_path: Path) -> None:
    del tmp_path
    import gzip
    from unittest import mock

    with mock.patch("inspector.core.dialects.decoding.LARGEST", 1_000_000):
        assert "larger than" in decoded(gzip.compress(bytes(5_000_000)), "gzip").undecoded


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("", False),
        ("data: {}\n\n", False),
        ('event: message_stop\ndata: {"type":"message_stop"}\n\n', True),
        ('event: message_stop\r\ndata: {"type":"message_stop"}\r\n\r\n', True),
        ('event: message_stop\ndata: {"type":"mess', False),
        ('data: {"type":"response.completed"}\n\nevent: x\ndata: {}\n\n', True),
        ('data: {"delta":"message_stop"}\n\n', False),
        ("data: [DONE]\n\n", True),
        ('data: {"choices":[{"finish_reason":null}]}\n\n', False),
        (
            'data: {"choices":[{"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{}}\n\n',
            True,
        ),
        ('data: {"candidates":[{"finishReason":"STOP"}]}\n\n', True),
        (": ping\n\n" * 3, False),
    ],
)
def test_whether_a_stream_is_over(text: str, over: bool) -> None:
    assert is_over(text) is over
