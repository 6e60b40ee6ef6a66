"""Roku's estimator, by the cases of the specification."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import NOT_IN_FILE, Prompt
from inspector.core.message import Image, Message, Text, ToolCall, ToolResult
from inspector.core.tokens.estimators import buffer_tokens
from inspector.core.tokens.harnesses import Roku, classify, estimate, utf8_length

CASES = [
    ("R-EST-1", "", 0, "empty", 0),
    ("R-EST-3", "hello world", 11, "text", 3),
    ("R-EST-4", "中文", 6, "cjk", 2),
    ("R-EST-5", "中文段落示例" * 5, 90, "cjk", 30),
    ("R-EST-6", "a" * 12 + "中" * 4, 24, "cjk", 8),
    ("R-EST-7", "a" * 13 + "中" * 4, 25, "text", 7),
    ("R-EST-10a", "[true, false]", 13, "text", 4),
    ("R-EST-10b", "[null]", 6, "text", 2),
    ("R-EST-10c", "[-1]", 4, "text", 1),
    ("R-EST-11", "[note] hi", 9, "text", 3),
    ("R-EST-15", "[" + "中" * 10, 31, "cjk", 11),
    ("R-EST-16", "{中}", 5, "structured", 3),
    ("R-EST-18a", "é" * 8, 16, "cjk", 6),
    ("R-EST-18b", "😀😀", 8, "cjk", 3),
    ("R-EST-18c", "naïve café", 12, "text", 3),
    ("R-EST-19", "x" * 300 + "中" * 300, 1200, "text", 300),
    ("R-EST-20", "中" * 90 + "x" * 1000, 1270, "cjk", 424),
    ("R-EST-21", "[Old tool result content cleared]", 33, "text", 9),
    ("white space only", " \t\r\n", 4, "text", 1),
    ("white space first", " \n\t{", 4, "structured", 2),
    ("list, white space inside", '[ \n "a"]', 8, "structured", 4),
    ("list of lists", "[[1]]", 5, "structured", 3),
    ("list of objects", "[{", 2, "structured", 1),
    ("empty list", "[]", 2, "structured", 1),
    ("list of numbers", "[0]", 3, "structured", 2),
    ("list, nothing after", "[", 1, "text", 1),
    ("list, other digits", "[٣]", 4, "cjk", 2),
    ("tag", "<a>", 3, "structured", 2),
    ("closing tag, space inside", "< /a>", 5, "structured", 3),
    ("doctype", "<!x", 3, "structured", 2),
    ("declaration", "<?x", 3, "structured", 2),
    ("less than", "<3 you", 6, "text", 2),
    ("other white space does not skip", "\x0b{", 2, "text", 1),
]


@pytest.mark.parametrize(
    ("text", "size", "text_class", "tokens"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_text(text: str, size: int, text_class: str, tokens: int) -> None:
    assert (utf8_length(text), classify(text), estimate(text)) == (size, text_class, tokens)


def user(text: str) -> Message:
    return Message("u", "user", (Text(text),))


def test_raw_of_a_buffer_r_est_22() -> None:
    buffer = [user("hello world"), Message("a", "assistant", (Text("hi back"),))]
    assert buffer_tokens(Roku(), buffer, Prompt(system="system context")) == 3 + 2 + 4 + 8


def test_empty_buffer_r_est_24() -> None:
    assert buffer_tokens(Roku(), (), NOT_IN_FILE) == 0


@pytest.mark.parametrize("call_id", ["c1", "x" * 200])
def test_call_ids_cost_nothing_r_est_25(call_id: str) -> None:
    call = Message("a", "assistant", (Text("ok"), ToolCall(call_id, "bash", {"cmd": "ls"})))
    result = Message("t", "tool", (ToolResult(call_id, "a.txt", is_error=True),))
    assert buffer_tokens(Roku(), (call, result)) == (1 + 1 + 6 + 4) + (2 + 4)


def test_arguments_are_halved_even_as_free_text() -> None:
    assert Roku().weigh(Message("a", "assistant", (ToolCall("c", "run", "abc"),))) == 1 + 3 + 4


def test_images_and_tools_cost_nothing() -> None:
    assert (
        Roku().weigh(Message("u", "user", (Text("abcd"), Image("image/png", "A" * 4000)))) == 1 + 4
    )


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_length_is_that_of_utf8(text: str) -> None:
    assert utf8_length(text) == len(text.encode())


@given(st.text(), st.text())
def test_never_falls_when_text_of_its_class_is_added(text: str, more: str) -> None:
    if classify(text) == classify(text + more):
        assert estimate(text + more) >= estimate(text)


def test_lone_surrogates_and_long_texts_do_not_fail() -> None:
    assert utf8_length("\ud800") == 3
    assert utf8_length("é" * 200_000 + "\udfff") == 400_003
