"""Repeated spans: against a finder that compares everything with everything, and as people meet them."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import NOT_IN_FILE, Buffer, Stretch
from inspector.core.findings.breakdown import tool_calls
from inspector.core.findings.repeats import LEAST, Repeat, lines_of, repeats, searched
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.session import Session, Thread
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.sizing import sizer

Place = tuple[int, int, int]
"""Message, which of its texts, line."""


def found(messages: list[Message]) -> tuple[Repeat, ...]:
    thread = Thread("main", messages=messages, end=Stretch(own=messages).view())
    size = sizer(known_pressures(thread), None)
    return repeats(
        size, Buffer(tuple(messages), NOT_IN_FILE), tool_calls(Session("x", (thread,)), thread)
    )


def said(texts: list[str]) -> list[Message]:
    return [Message(f"m{n}", "user", (Text(text),)) for n, text in enumerate(texts)]


def places(one: Repeat) -> list[list[Place]]:
    """Of each copy, line by line."""
    return [
        [(run.message, run.text, line) for run in copy for line in range(run.first, run.last + 1)]
        for copy in one.copies
    ]


def spans(lines: list[str]) -> list[tuple[int, int]]:
    """(first line, line after the last) of all that are long enough."""
    pairs = product(range(len(lines)), range(len(lines) + 1))
    return [
        (a, b) for a, b in pairs if a < b and sum(len(line) + 1 for line in lines[a:b]) >= LEAST
    ]


def brute(texts: list[list[str]], *, shortest: bool) -> set[Place]:
    """Every line within a span that stands somewhere else, too, without touching itself.

    `shortest`: only spans that are too short without their last line, and nowhere overlap another of the same text.
    """
    all_spans = [(n, a, b) for n, lines in enumerate(texts) for a, b in spans(lines)]
    if shortest:
        kept = {(n, a): b for n, a, b in sorted(all_spans, reverse=True)}
        all_spans = [(n, a, b) for (n, a), b in kept.items()]
    marked: set[Place] = set()
    for n, a, b in all_spans:
        same = [
            (m, c, d)
            for m, c, d in all_spans
            if texts[m][c:d] == texts[n][a:b] and (m, c) != (n, a)
        ]
        apart = [(m, c, d) for m, c, d in same if m != n or d <= a or b <= c]
        if apart and not (shortest and _overlaps([(n, a, b), *same])):
            marked |= {(n, 0, line) for line in range(a, b)}
    return marked


def _overlaps(spans: list[tuple[int, int, int]]) -> bool:
    return any(n == m and a < c < b for n, a, b in spans for m, c, _ in spans)


line = st.sampled_from(["a" * 90, "b" * 70, "c" * 120, "d" * 30, "e" * 210, "}", ""])


@given(st.lists(st.lists(line, min_size=1, max_size=9), max_size=5))
def test_all_that_repeats_is_found_and_nothing_else(texts: list[list[str]]) -> None:
    marked: set[Place] = set()
    for one in found(said(["\n".join(lines) for lines in texts])):
        copies = places(one)
        assert one.times == len(copies) >= 2
        assert one.free == one.tokens_each * (one.times - 1)
        for copy in copies:
            assert [texts[n][at] for n, _, at in copy] == [texts[n][at] for n, _, at in copies[0]]
            assert marked.isdisjoint(copy)
            marked |= set(copy)
    assert brute(texts, shortest=True) <= marked <= brute(texts, shortest=False)


BODY = [
    f"line {n} says something that no other line of this file says, {n * 7919}"
    for n in range(1, 41)
]


def read(at: int, path: str, lines: list[str], first: int) -> list[Message]:
    """A file read by a tool that prints line numbers."""
    shown = "\n".join(f"{n:6}→{line}" for n, line in enumerate(lines, first))
    call = ToolCall(f"c{at}", "Read", {"file_path": path, "offset": first})
    return [
        Message(f"a{at}", "assistant", (call,)),
        Message(f"r{at}", "tool", (ToolResult(f"c{at}", shown),)),
    ]


def test_a_file_read_whole_and_in_part() -> None:
    messages = [
        *read(0, "src/a.py", BODY, 1),
        *read(1, "src/a.py", BODY[:20], 1),
        *read(2, "src/a.py", BODY, 1),
    ]
    first, second = found(messages)
    assert (first.times, first.messages, first.what) == (3, (1, 3, 5), "src/a.py lines 1-20")
    assert (second.times, second.messages, second.what) == (2, (1, 5), "src/a.py lines 21-40")


def test_numbers_before_lines_are_no_part_of_them() -> None:
    pasted = Message("u", "user", (Text("look at this:\n" + "\n".join(BODY)),))
    (one,) = found([*read(0, "src/a.py", BODY, 101), pasted])
    assert one.messages == (1, 2)
    assert one.what == "src/a.py"
    written = Message(
        "w",
        "assistant",
        (ToolCall("w", "Write", {"file_path": "b.py", "content": "\n".join(BODY)}),),
    )
    (one,) = found([*read(0, "src/a.py", BODY, 1), written])
    assert (one.messages, one.what) == ((1, 2), BODY[0][:80])


def test_what_is_short_or_stands_once_is_no_repeat() -> None:
    assert found(said(["x" * (LEAST - 2), "x" * (LEAST - 2)])) == ()
    (one,) = found(said(["x" * (LEAST - 1), "y" * 500, "x" * (LEAST - 1)]))
    assert one.messages == (0, 2)


def test_numbers_are_taken_off_alike() -> None:
    assert lines_of("  1→a\n  2→\tb\n\n <note>") == ["a", "\tb", "", " <note>"]
    assert lines_of("00001| a\n00002|   b") == ["a", "  b"]
    assert lines_of("3:def f():\n4:    pass") == ["def f():", "    pass"]
    assert lines_of("see 3: that") == ["see 3: that"]
    assert (
        len(list(searched(Message("m", "assistant", (ToolCall("c", "Bash", {"command": "ls"}),)))))
        == 0
    )
