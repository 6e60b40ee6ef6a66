"""Gemini CLI: cut outputs, and a snapshot that a second call checks."""

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from inspector.core.dialects.gemini import GEMINI
from inspector.core.message import Message
from inspector.core.needs import Answer, ProviderFailure, SaveText, Summarize, drive
from inspector.core.policies import gemini
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import SimpleState
from tests.core.policies.build import (
    Script,
    assistant,
    before_call,
    buffer,
    result,
    run,
    texts,
    user,
)


@pytest.mark.parametrize(("tokens", "fires"), [(499, False), (500, True), (501, True)])
@pytest.mark.parametrize("window", [1000, 999])
def test_gemini_fires_from_half_of_the_window_on(tokens: int, fires: bool, window: int) -> None:
    before = buffer(user("x" * 4 * (tokens - 1)), assistant("done"))
    assert bool(before_call(gemini.POLICY, before, Script("S", "S"), window=window)) is fires
    settings = gemini.POLICY.settings((), window)
    verdicts = gemini.POLICY.due(PolicyContext(before, settings, SimpleState()))
    assert [verdict.due for verdict in verdicts] == [False, fires]
    assert verdicts[1].limit == 500


def test_gemini_keeps_the_newest_and_asks_twice() -> None:
    before = buffer(*(user("u" * 400) if n % 2 == 0 else assistant("a" * 400) for n in range(10)))
    script = Script(
        "<state_snapshot>draft</state_snapshot>", "<state_snapshot>better</state_snapshot>"
    )
    after = run(gemini.POLICY, "compress", before, script)
    assert texts(after.buffer.messages[:2]) == [
        "<state_snapshot>better</state_snapshot>",
        gemini.ACKNOWLEDGED,
    ]
    # 0.7 of the characters lie before message 7, 8 is a user's.
    assert after.buffer.messages[2:] == before.messages[8:]
    draft, check = script.needs
    assert isinstance(draft, Summarize)
    assert isinstance(check, Summarize)
    assert draft.messages == before.messages[:8]
    assert check.messages[-1].text == "<state_snapshot>draft</state_snapshot>"
    assert check.purpose == "verification"
    again = Script("newer", "newer")
    run(gemini.POLICY, "compress", after.buffer, again)
    assert isinstance(again.needs[0], Summarize)
    assert again.needs[0].text.startswith(gemini.UPDATED)


@pytest.mark.parametrize(
    ("messages", "split"),
    [
        ((), 0),
        ((user("x" * 100),), 0),
        ((user("x" * 100), assistant("a" * 100)), 2),  # the model has finished: all of it can go
        ((user("x" * 100), assistant("", ("c", "R", {}))), 0),
        (
            (
                user("x" * 900),
                assistant("a"),
                user("y"),
                assistant("b", ("c", "R", {})),
                result("c", "r"),
            ),
            2,
        ),
        (
            (
                user("x"),
                assistant("a"),
                user("y"),
                assistant("b" * 900, ("c", "R", {})),
                result("c", "r"),
            ),
            2,
        ),
    ],
)
def test_gemini_cuts_before_a_user_message(messages: tuple[Message, ...], split: int) -> None:
    assert gemini.find_split_point(messages, 0.7) == split


INFLATED = ("s", "s" * 5_000)


def test_gemini_rejects_an_inflated_result_and_then_only_truncates() -> None:
    before = buffer(user("x" * 400), assistant("a" * 400), user("y"), assistant("b"))
    (rejected,) = before_call(gemini.POLICY, before, Script(*INFLATED), window=10)
    assert (rejected.buffer, rejected.error, rejected.running.failures) == (before, "inflated", 1)
    script = Script()
    assert not before_call(gemini.POLICY, before, script, window=10, running=rejected.running)
    assert not script.needs
    verdicts = gemini.POLICY.due(
        PolicyContext(before, gemini.POLICY.settings((), 10), rejected.running)
    )
    assert [verdict.due for verdict in verdicts] == [True, False]
    settings = gemini.POLICY.settings()
    by_hand = drive(
        gemini.POLICY.tier("compress", PolicyContext(before, settings, rejected.running)),
        Script("s", "s"),
    )
    assert by_hand.running.failures == 0


def test_gemini_counts_nothing_that_was_asked_for_by_hand() -> None:
    before = buffer(user("x" * 400), assistant("a" * 400), user("y"), assistant("b"))
    rejected = run(gemini.POLICY, "compress", before, Script(*INFLATED))
    assert (rejected.error, rejected.running.failures) == ("inflated", 0)
    (over,) = before_call(gemini.POLICY, before, Script(*INFLATED), overflow="prompt is too long")
    assert (over.error, over.running.failures) == ("inflated", 0)


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([ProviderFailure("no")], "provider_failure"),
        (["draft", ProviderFailure("no")], "provider_failure"),
        (["", ""], "empty_summary"),
    ],
)
def test_gemini_tries_again_after_a_failure(answers: list[Any], error: str) -> None:
    before = buffer(user("x" * 400), assistant("a" * 400))
    (after,) = before_call(gemini.POLICY, before, Script(*answers), window=10)
    assert (after.buffer, after.error, after.running.failures) == (before, error, 0)


def test_gemini_keeps_the_draft_where_the_check_says_nothing() -> None:
    before = buffer(user("x" * 400), assistant("a" * 400))
    after = run(gemini.POLICY, "compress", before, Script("draft", "  "))
    assert after.buffer.messages[0].text == "draft"


def test_gemini_cuts_the_middle_out_of_older_responses() -> None:
    long = "".join(f"line {n}\n" for n in range(10_000))
    before = buffer(
        user("go"), assistant("", ("a", "R", {})), result("a", long), assistant("", ("b", "R", {})), result("b", long),
        assistant("", ("c", "R", {})), result("c", "short"),
    )  # fmt: skip
    script = Script(Answer(text="/tmp/saved"))
    after = run(gemini.POLICY, "truncate", before, script, tool_response_tokens=30_000)
    (saved,) = script.needs
    assert isinstance(saved, SaveText)
    assert saved.text == long
    old, new = after.buffer.messages[2].result, after.buffer.messages[4].result
    assert old
    assert new
    assert new.content == long
    told = "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: /tmp/saved"
    assert (
        old.content
        == f"{told}\n{long[:8_000]}\n\n... [58,890 characters omitted] ...\n\n{long[-32_000:]}"
    )
    assert after.changed == {before.messages[2].id: "cut"}
    unsaved = run(
        gemini.POLICY,
        "truncate",
        before,
        Script(ProviderFailure("no")),
        tool_response_tokens=30_000,
    )
    assert unsaved.buffer == before
    narrow = run(
        gemini.POLICY,
        "truncate",
        before,
        Script(Answer(text="f")),
        window=50_000,
        tool_response_tokens=30_000,
    )
    cut = narrow.buffer.messages[2].result
    room = 4 * (
        50_000
        - gemini.POLICY.tokens(PolicyContext(before, gemini.POLICY.settings(), SimpleState()))
    )
    assert cut
    assert cut.content.startswith(
        f"Output too large. Showing first {room // 5:,} and last {room - room // 5:,} "
    )


@pytest.mark.parametrize(
    ("text", "room", "first", "last", "omitted"),
    [
        ("abcdefghij", 5, "a", "ghij", "5"),
        ("abcdefghij", 4, "", "ghij", "6"),
        ("中文字中文字中文字中", 5, "中", "中文字中", "5"),
        (
            "\U0001f600" * 5,
            5,
            "�",
            "\U0001f600" * 2,
            "5",
        ),  # a character is two units: one stays half
        ("abcdefghij", 0, "", "abcdefghij", "10"),  # JavaScript's slice(-0) is all of it
        ("abcdefghij", -5, "abcdefghi", "efghij", "15"),
    ],
)
def test_gemini_head_and_tail(text: str, room: int, first: str, last: str, omitted: str) -> None:
    cut = gemini.cut_middle_out(text, "f", room)
    assert cut.partition("\n")[2] == f"{first}\n\n... [{omitted} characters omitted] ...\n\n{last}"


def upstream_split(contents: list[dict[str, Any]], share: float) -> int:
    """findCompressSplitPoint of gemini-cli's chatCompressionService.ts, told in Python: an index of contents."""
    counts = [
        len(json.dumps(content, ensure_ascii=False, separators=(",", ":"))) for content in contents
    ]
    target, passed, last = sum(counts) * share, 0, 0
    for at, content in enumerate(contents):
        if content["role"] == "user" and not any(
            "functionResponse" in part for part in content["parts"]
        ):
            if passed >= target:
                return at
            last = at
        passed += counts[at]
    done = bool(contents) and contents[-1]["role"] == "model"
    return (
        len(contents)
        if done and not any("functionCall" in part for part in contents[-1]["parts"])
        else last
    )


def contents_of(random: Random) -> list[dict[str, Any]]:
    """A history as the client keeps it: prompts, answers, calls and the responses to them."""
    contents: list[dict[str, Any]] = []
    for turn in range(random.randint(1, 8)):
        contents.append({"role": "user", "parts": [{"text": "ask " * random.randint(1, 60)}]})
        for step in range(random.randint(0, 4)):
            ids = [f"c{turn}-{step}-{n}" for n in range(random.randint(1, 3))]
            calls = [
                {"functionCall": {"id": name, "name": "read", "args": {"path": "a\nb"}}}
                for name in ids
            ]
            contents.append({"role": "model", "parts": [{"text": 'I "look".'}, *calls]})
            said = [{"output": "line\n" * random.randint(1, 80)} for _ in ids]
            responses = [
                {"functionResponse": {"id": name, "name": "read", "response": response}}
                for name, response in zip(ids, said, strict=True)
            ]
            contents.append({"role": "user", "parts": responses})
        if random.random() < 0.8:
            contents.append({"role": "model", "parts": [{"text": "done " * random.randint(1, 40)}]})
    return contents


@pytest.mark.parametrize("seed", range(300))
def test_gemini_splits_where_its_client_does(seed: int) -> None:
    random = Random(seed)
    contents = contents_of(random)
    units = list(GEMINI.units(contents, 1, ""))
    messages = [
        replace(message, id=f"{at}.{n}")
        for at, unit in enumerate(units)
        for n, message in enumerate(unit)
    ]
    share = random.choice([0.3, 0.5, 0.7])
    split = upstream_split(contents, share)
    assert gemini.find_split_point(messages, share) == sum(len(unit) for unit in units[:split])
