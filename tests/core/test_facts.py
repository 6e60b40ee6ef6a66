"""What counts as a fact, and when one is lost."""

import pytest

from inspector.core.facts.fact import Fact
from inspector.core.facts.index import lost
from inspector.core.facts.reading import facts
from inspector.core.facts.sentences import find_decisions
from inspector.core.message import Message, Text, ToolCall, ToolResult


def said(text: str, role: str = "assistant", id: str = "m") -> Message:  # noqa: A002
    return Message(id, role, (Text(text),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("look at src/reader.py now", "path", "src/reader.py"),
        ("看 ./docs/说明.md。", "path", "./docs/说明.md"),
        ("edit rates.toml", "path", "rates.toml"),
        ("看src/a.py", "path", "src/a.py"),
        ("src/reader.py:118:def load_rates():", "path", "src/reader.py"),
        ("see https://a.example/b/c?x=1).", "url", "https://a.example/b/c?x=1"),
        ("call load_rates()", "identifier", "load_rates"),
        ("call loadRates()", "identifier", "loadRates"),
        ("调用load_rates函数", "identifier", "load_rates"),
        ("commit deadbeef1", "identifier", "deadbeef1"),
        ("took 84,102 tokens", "number", "84,102"),
        ("12.5% of it", "number", "12.5%"),
    ],
)
def test_found(text: str, kind: str, expected: str) -> None:
    assert Fact(kind, expected) in facts(said(text))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "   4711\treturn row",
        "4711→    return row",
        "4711-    return row",
        "ran 4711 tests, 4711 passed in 4711 ms",
        "see lines 4711-4800, line 4712, L4713",
        "-rw-r--r-- 1 dev dev 47111 Nov 21 21:11 notes",
        "2026-11-21T21:11:04.471Z 21:11:04 1f0e1c2d-aaaa-bbbb-cccc-47114711ab47",
        "400 404 2048 5000 2026 1.0 8080",
        "file_path isEmpty updated_at <tool_use_error> toolu_01AbCdEfGh",
        "Edit/Write and/or trace/docs pulls/112/comments origin/main README.md Node.js /dev/null",
    ],
)
def test_what_says_nothing_by_itself(text: str) -> None:
    assert not facts(Message("m", "tool", (ToolResult("c", text),)))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ValueError: no such row 7", True),
        ("E       AssertionError: 3 != 4", True),
        ("src/a.c:3:5: error: expected ';' before 'x'", True),
        ("fatal: not a git repository", True),
        ("--- FAIL: TestLoad (0.00s)", True),
        ('    return fmt.Errorf("error: %w", err)', False),
        ("        ValueError: if the row is missing", False),
        ("  error: Error;", False),
        ("except ValueError: pass", False),
        ("0 errors, 3 warnings", False),
    ],
)
def test_errors_are_what_a_tool_printed_not_source(line: str, told: bool) -> None:
    result = Message("m", "tool", (ToolResult("c", f"x\n{line}\ny"),))
    assert [fact.text for fact in facts(result) if fact.kind == "error"] == ([line] if told else [])
    assert not [fact for fact in facts(said(f"x\n{line}\ny")) if fact.kind == "error"]


def test_what_failed_without_a_known_form_is_told_by_the_line_that_says_so() -> None:
    """A commit hook prints what it runs, and then what it found."""

    def told(text: str) -> list[str]:
        result = Message("m", "tool", (ToolResult("c", text, is_error=True),))
        return [fact.text for fact in facts(result) if fact.kind == "error"]

    hook = "[fmt] $ gofmt -w .\n[lint] $ golangci-lint run\nledger.go has been changed\n"
    assert told(f"{hook}the hook failed on 2 files\ndone") == ["the hook failed on 2 files"]
    assert told(f"{hook}done") == []
    assert told("permission was withheld here") == ["permission was withheld here"]


def wanted(text: str) -> list[tuple[str, str]]:
    kinds = ("instruction", "constraint")
    return [(fact.kind, fact.text) for fact in facts(said(text, "user")) if fact.kind in kinds]


def test_what_the_user_wants_and_forbids() -> None:
    text = (
        "Keep the API as it is. 请先修复指针问题。不要改接口，谢谢。"
        "Then run the tests! You must not touch migrations."
    )
    assert wanted(text) == [
        ("constraint", "Keep the API as it is."),
        ("instruction", "请先修复指针问题。"),
        ("constraint", "不要改接口，谢谢。"),
        ("instruction", "Then run the tests!"),
        ("constraint", "You must not touch migrations."),
    ]
    assert wanted("Never push to main.") == [("constraint", "Never push to main.")]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("no, I did not say commit anything", "constraint"),
        ("there are no users yet, so no need for backward compatibility", "constraint"),
        ("yes, but we don't need to commit", "constraint"),
        ("the block should stay as is", "constraint"),
        ("use rgb values in the themes, no rgb indices!", "constraint"),
        ("依赖能不加就不加", "constraint"),
        ("动数据库之前先问我", "constraint"),
        ("dont't change any files, just tell me your opinion", "constraint"),
        ("keep the commits working please (no micro-committing)", "constraint"),
        ("no mocks, use the real database", "constraint"),
        ("please stop adding comments everywhere", "constraint"),
        ("we should only have one list view", "constraint"),
        ("the response needs to be under 50 ms", "constraint"),
        ("ask before you delete anything", "constraint"),
        ("we're stuck on Python 3.8 in production", "constraint"),
        ("fix the bug, nothing else", "constraint"),
        ("以后每次改完都跑一下测试", "constraint"),
        ("maybe we should add some examples?", "instruction"),
        ("I think we should move the cache into its own module", "instruction"),
        ("move the message up just before the file list?", "instruction"),
        ("I also would like to explore a list view", "instruction"),
        ("there is a review comment, look and see if you agree", "instruction"),
        ("debug: the table shows no token usage", "instruction"),
        ("查一下旧版是怎么处理重复订单的", "instruction"),
    ],
)
def test_kind_of_a_wish_without_a_word_such_as_never(text: str, kind: str) -> None:
    assert [found for found, _ in wanted(text)] == [kind]


def test_quotation_in_an_explanation_of_a_summary_is_no_rule_and_a_quoted_message_is() -> None:
    summary = (
        'The log line "no new content" means that nothing was watched.\n'
        '- "never touch the migrations folder" (repeated twice)\n'
        'The hook said "no new content" at 18:00.\n'
        'The user said "do not push to main" and left.'
    )
    message = Message("s", "user", (Text(summary),), summary=True)
    assert {fact.text for fact in facts(message) if fact.kind == "constraint"} == {
        "never touch the migrations folder",
        "do not push to main",
    }


@pytest.mark.parametrize(
    "text",
    [
        "Requirements:",
        "# Add a parser here",
        "| run | the tests |",
        "I don't understand this one.",
        "is that right?",
        "can we actually rewind past the last checkpoint?",
        "Scenario B: Don't clear, but reuse",
        "I doubt that it is unchanged, we don't compare it",
        "interesting, so the parser never sees the token",
        "no failing tests found",
        "we don't have access to that server right now",
        "it's the parser, not the lexer",
        "the docs are in German",
        "这个错误只在服务器上出现",
        "no problem!",
        "ok thanks",
        "```\nplease run this now\n```",
        "<system-reminder>Do this now.</system-reminder>",
    ],
)
def test_what_is_no_wish_of_the_user(text: str) -> None:
    assert not wanted(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("We decided to keep the cache in memory.", True),
        ("I'll store rates per day instead of per month.", True),
        ("这里改用整数存储金额。", True),
        ("The function returns nil instead of an error.", False),
        ("I'll use the search tool now.", False),
        ("Let me read the file.", False),
    ],
)
def test_decisions(text: str, told: bool) -> None:
    assert [fact.text for fact in facts(said(text)) if fact.kind == "decision"] == (
        [text] if told else []
    )


def test_arguments_are_read_as_a_person_would() -> None:
    message = Message(
        "m", "assistant", (ToolCall("c", "Edit", {"file_path": "a/b.py", "new": ["x\nrate_book"]}),)
    )
    assert {fact.text for fact in facts(message)} >= {"a/b.py", "rate_book"}


def test_lost_is_what_stands_nowhere() -> None:
    old = said("src/a.py and src/b.py", id="1")
    result = Message("2", "tool", (ToolResult("c", "ValueError: broken rates at 11847"),))
    kept = said("then we looked", id="3")
    summary = said("work on src/a.py", id="s")
    gone = lost([old, result, kept], [summary, kept])
    assert {(fact.text, message) for fact, message in gone.items()} == {
        ("src/b.py", "1"),
        ("ValueError: broken rates at 11847", "2"),
    }
    assert lost([old, result], [old, result]) == {}


@pytest.mark.parametrize(
    "text",
    ["a/" * 50_000, "a_" * 50_000, "Aa" * 50_000, "1," * 50_000, "0a" * 50_000, "[" * 99_999],
)
def test_no_text_makes_it_slow(text: str) -> None:
    facts(said(text, "user"))


def test_a_fact_that_was_cut_still_stands_where_its_text_stands() -> None:
    sentence = "Keep " + "every single word of it " * 30
    before = (said(sentence, "user"), said("other"))
    kept = next(fact for fact in facts(before[0]) if fact.kind == "instruction")
    assert len(kept.text) == 400
    assert not lost(before, (said(f"The user said: {sentence}"),))
    assert list(lost(before, (said("The user said: keep every word"),))) == [kept]


def test_the_words_of_a_fact_in_different_places_are_not_the_fact() -> None:
    before = (said("see src/reader.py and 84,102"),)
    after = (said("src has a reader, in py; 84 and 102"),)
    assert {fact.text for fact in lost(before, after)} == {"src/reader.py", "84,102"}
    assert not lost(before, (said("it was (src/reader.py): 84,102 tokens"),))


@pytest.mark.parametrize(
    "pasted",
    [
        "django.core.exceptions.ImproperlyConfigured: The SECRET_KEY setting must not be empty. You must set it.",
        "ValueError: the name must never be empty here",
        "The above copyright notice and this permission notice shall be included in all copies.",
        "IN NO EVENT SHALL THE AUTHORS be liable for any claim.",
        "Use Cases and Their Impact",
    ],
)
def test_what_a_user_pastes_is_no_rule_and_no_wish(pasted: str) -> None:
    assert not wanted(pasted)


def test_which_tool_comes_next_is_no_decision_and_what_is_chosen_is() -> None:
    assert not list(find_decisions("Let's use find_file to see where it is."))
    assert [one.kind for one in find_decisions("Let's use decimals for all rates.")] == ["decision"]
    assert wanted("Update README and the Makefile") == [
        ("instruction", "Update README and the Makefile")
    ]


def test_blank_lines_are_read_once() -> None:
    """A folder's listing may hold a hundred thousand: looked through from each of them this would not end."""
    assert list(find_decisions("\n" * 200_000 + "We decided to keep the old name."))
