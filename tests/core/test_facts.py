"""What counts as a fact, and when one is lost."""

import pytest

from inspector.core.facts import Fact, facts, lost
from inspector.core.message import Message, Text, ToolCall, ToolResult


def said(text: str, role: str = "assistant", id: str = "m") -> Message:  # noqa: A002
    return Message(id, role, (Text(text),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("look at src/reader.py now", "path", "src/reader.py"),
        ("看 ./docs/说明.md。", "path", "./docs/说明.md"),
        ("edit pyproject.toml", "path", "pyproject.toml"),
        ("see https://a.example/b/c?x=1).", "url", "https://a.example/b/c?x=1"),
        ("call parse_row()", "identifier", "parse_row"),
        ("call parseRow()", "identifier", "parseRow"),
        ("commit deadbeef1", "identifier", "deadbeef1"),
        ("took 84,102 tokens", "number", "84,102"),
        ("12.5% of it", "number", "12.5%"),
        ("x\nValueError: no such row 7\ny", "error", "ValueError: no such row 7"),
    ],
)
def test_found(text: str, kind: str, expected: str) -> None:
    assert Fact(kind, expected) in facts(said(text))  # type: ignore[arg-type]


def test_instructions_are_the_users_own_sentences() -> None:
    message = said("Keep the API. 请先不要改接口，只修复指针问题。Then test!", "user")
    found = [fact.text for fact in facts(message) if fact.kind == "instruction"]
    assert found == ["Keep the API.", "请先不要改接口，只修复指针问题。", "Then test!"]
    assert not [fact for fact in facts(said("Keep the API.")) if fact.kind == "instruction"]
    assert not [
        f for f in facts(said("<system-reminder>Do this.</system-reminder>", "user")) if f.kind == "instruction"
    ]


def test_arguments_are_read_as_a_person_would() -> None:
    message = Message("m", "assistant", (ToolCall("c", "Edit", {"file_path": "a/b.py", "new": ["x\ny_z_w"]}),))
    assert {fact.text for fact in facts(message)} >= {"a/b.py", "y_z_w"}


def test_lost_is_what_stands_nowhere() -> None:
    old = said("src/a.py and src/b.py", id="1")
    result = Message("2", "tool", (ToolResult("c", "ValueError: broken at line 118"),))
    kept = said("then we looked", id="3")
    summary = said("work on src/a.py", id="s")
    gone = lost([old, result, kept], [summary, kept])
    assert {(one.fact.text, one.message) for one in gone} == {
        ("src/b.py", "1"),
        ("ValueError", "2"),
        ("118", "2"),
        ("ValueError: broken at line 118", "2"),
    }
    assert lost([old, result], [old, result]) == ()


@pytest.mark.parametrize(
    "text", ["a/" * 50_000, "a_" * 50_000, "Aa" * 50_000, "1," * 50_000, "0a" * 50_000, "[" * 99_999]
)
def test_no_text_makes_it_slow(text: str) -> None:
    facts(said(text, "user"))


def test_a_fact_that_was_cut_still_stands_where_its_text_stands() -> None:
    sentence = "Keep " + "every single word of it " * 30
    before = (said(sentence, "user"), said("other"))
    kept = next(fact for fact in facts(before[0]) if fact.kind == "instruction")
    assert len(kept.text) == 400
    assert not lost(before, (said(f"The user said: {sentence}"),))
    assert [one.fact for one in lost(before, (said("The user said: keep every word"),))] == [kept]


def test_the_words_of_a_fact_in_different_places_are_not_the_fact() -> None:
    before = (said("see src/reader.py and 84,102"),)
    after = (said("src has a reader, in py; 84 and 102"),)
    assert {one.fact.text for one in lost(before, after)} == {"src/reader.py", "84,102"}
    assert not lost(before, (said("it was (src/reader.py): 84,102 tokens"),))
