"""Search: when a message came and when it left, checked against laying out every buffer."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Stretch, View
from inspector.core.findings.search import Stay, find_text, message_stays
from inspector.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult
from inspector.core.session import Request, Thread


def user(name: str, text: str = "hello") -> Message:
    return Message(name, "user", (Text(text),))


def thread(*views: View, messages: tuple[Message, ...] = ()) -> Thread:
    """All views but the last are requests."""
    requests = tuple(Request(n, view) for n, view in enumerate(views[:-1]))
    return Thread("main", requests=requests, messages=messages, end=views[-1])


def plain_stays(one: Thread) -> dict[int, Stay]:
    """The slow and obvious way."""
    buffers = [
        {id(m) for m in view.messages()} for view in (*(r.view for r in one.requests), one.end)
    ]
    found = {}
    for key in set().union(*buffers):
        standing = [n for n, buffer in enumerate(buffers) if key in buffer]
        found[key] = Stay(
            standing[0], None if standing[-1] == len(buffers) - 1 else standing[-1] + 1
        )
    return found


def test_a_compaction_lets_messages_leave() -> None:
    old = Stretch(own=[user("1", "the needle"), user("2"), user("3")])
    new = Stretch(own=[user("s", "summary")])
    one = thread(old.view(1), old.view(3), new.view(1), new.view(1))
    (hit,) = find_text(one, "needle")
    assert (hit.message.id, hit.part, hit.start, hit.stay) == ("1", 0, 4, Stay(0, 2))
    (summary,) = find_text(one, "SUMMARY")
    assert summary.stay == Stay(2, None)


def test_both_versions_of_an_edited_message_are_found() -> None:
    old = Stretch(own=[user("1"), Message("t", "tool", (ToolResult("c", "a result"),))])
    new = Stretch(old.view(1), [Message("t", "tool", (ToolResult("c", "a result, cleared"),))])
    hits = find_text(thread(old.view(), new.view(), new.view()), "a result")
    assert [hit.stay for hit in hits] == [Stay(0, 1), Stay(1, None)]


def test_what_never_stood_in_a_buffer_comes_last() -> None:
    lost = user("lost", "needle")
    old = Stretch(own=[user("1"), user("2", "needle")])
    hits = find_text(thread(old.view(1), old.view(2), messages=(lost, *old.own)), "needle")
    assert [(hit.message.id, hit.stay) for hit in hits] == [("2", Stay(1, None)), ("lost", None)]


@pytest.mark.parametrize(
    ("text", "case", "part"),
    [
        ("Deep", True, 0),
        ("deep", False, 0),
        ("deep", True, None),
        ("grep", False, 1),
        ('"pat":"x.y"', False, 1),
        ("xay", False, None),
        ("", False, None),
        ("AAAA", False, None),
    ],
)
def test_what_is_searched(text: str, case: bool, part: int | None) -> None:
    message = Message(
        "a",
        "assistant",
        (Thinking("Deep"), ToolCall("c", "Grep", {"pat": "x.y"}), Image("image/png", "AAAA")),
    )
    hits = find_text(thread(Stretch(own=[message]).view()), text, case)
    assert [hit.part for hit in hits] == ([] if part is None else [part])


_LETTERS = "aAiIkKsSßé 1\u0130\u0131\u017f\u212a\ud800"
"""Letters with partners outside ASCII if case is ignored, and half a surrogate pair."""


@given(st.text(_LETTERS, min_size=1, max_size=3), st.text(_LETTERS, max_size=20))
def test_text_when_case_is_ignored_is_found_where_a_pattern_finds_it(text: str, held: str) -> None:
    match = re.search(re.escape(text), held, re.IGNORECASE)
    hits = find_text(thread(Stretch(own=[user("a", held)]).view()), text)
    assert [hit.start for hit in hits] == ([] if match is None else [match.start()])


@st.composite
def threads(draw: st.DrawFn) -> Thread:
    """Requests over stretches that grow, stand on each other and are returned to."""
    stretches = [Stretch()]
    views: list[View] = []
    for n in range(draw(st.integers(1, 25))):
        match draw(st.sampled_from(["grow", "grow", "fork", "fresh", "back"])):
            case "fork":
                base = draw(st.sampled_from(stretches))
                stretches.append(Stretch(base.view(draw(st.integers(0, len(base))))))
            case "fresh":
                stretches.append(Stretch())
            case "back":
                stretches.append(stretches.pop(draw(st.integers(0, len(stretches) - 1))))
            case _:
                pass
        # a stretch that others stand on only grows after their base
        stretches[-1].append(user(str(n)))
        views.append(stretches[-1].view(draw(st.integers(0, len(stretches[-1])))))
    return thread(*views)


@given(threads())
def test_stays_are_those_of_the_buffers_laid_out(one: Thread) -> None:
    assert {key: stay for key, (_, stay) in message_stays(one).items()} == plain_stays(one)
