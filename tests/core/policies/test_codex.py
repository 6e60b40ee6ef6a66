"""Codex, as it compacts locally."""

from typing import Any

import pytest

from inspector.core.message import Image, Message, Text
from inspector.core.needs import ContextWindowExceeded, ProviderFailure, Summarize
from inspector.core.policies import codex
from inspector.core.policies.harness import SimpleState
from inspector.core.policies.place import believed_at
from inspector.transcripts.files import open_transcript
from tests.core.policies.build import (
    Script,
    assistant,
    before_call,
    buffer,
    build,
    result,
    run,
    texts,
    user,
)
from tests.shared import ARE_REAL, transcripts


@pytest.mark.parametrize(
    ("values", "window", "limit"),
    [
        ({}, 200_000, 180_000),
        ({"auto_limit": 50_000}, 200_000, 50_000),
        ({"auto_limit": 199_000}, 200_000, 180_000),
    ],
)
def test_codex_limit_is_90_percent_or_less(values: dict[str, Any], window: int, limit: int) -> None:
    assert codex.POLICY.settings([(k, str(v)) for k, v in values.items()], window).limit == limit


@pytest.mark.parametrize(("tokens", "fires"), [(899, False), (900, True), (901, True)])
def test_codex_fires_when_the_limit_is_reached(tokens: int, fires: bool) -> None:
    done = before_call(codex.POLICY, buffer(user("x" * 4 * tokens)), Script("S"), window=1000)
    assert bool(done) is fires


def test_codex_keeps_users_words_and_one_summary() -> None:
    developer = Message("d", "system", (Text("rules"),))
    context = Message("e", "user", (Text("<environment_context/>"),), mark="meta")
    late = Message("l", "user", (Text("a reminder"),), mark="attachment")
    before = buffer(
        developer, context, user("first wish"), assistant("", ("c", "Read", {})), result("c", "text"), late,
        user("second"),
    )  # fmt: skip
    script = Script("the summary")
    after = run(codex.POLICY, "compact", before, script)
    assert texts(after.buffer.messages) == [
        "rules", "<environment_context/>", "first wish", "second", f"{codex.PREFIX}\nthe summary",
    ]  # fmt: skip
    assert after.buffer.messages[-1].summary
    (need,) = script.needs
    assert isinstance(need, Summarize)
    assert need.messages == before.messages
    again = run(codex.POLICY, "compact", after.buffer, Script("newer"))
    assert texts(again.buffer.messages)[2:] == ["first wish", "second", f"{codex.PREFIX}\nnewer"]


def test_codex_cuts_the_oldest_user_message_that_still_has_room() -> None:
    before = buffer(user("a" * 100), user("b" * 4_000), user("c" * 400))
    after = run(codex.POLICY, "compact", before, Script("S"), user_message_tokens=600)
    kept = after.buffer.messages
    assert [message.id for message in kept[:-1]] == [message.id for message in before.messages[1:]]
    assert kept[0].text == "b" * 1000 + "…500 tokens truncated…" + "b" * 1000
    assert after.changed[kept[0].id] == "cut"
    assert kept[1] is before.messages[2]


@pytest.mark.parametrize(
    ("answer", "text"), [("  \n", "  \n"), ("\n## Done\n- a\n", "\n## Done\n- a\n")]
)
def test_codex_takes_the_summary_as_it_came(answer: str, text: str) -> None:
    after = run(codex.POLICY, "compact", build(3, "x"), Script(answer))
    assert after.buffer.messages[-1].text == f"{codex.PREFIX}\n{text}"


def test_codex_when_the_summary_is_empty_takes_the_last_words_of_the_model() -> None:
    """Upstream looks for the newest answer with text, also before the request for a summary."""
    asked = (
        user("go"),
        assistant("I look."),
        assistant("", ("c", "Read", {})),
        result("c", "text"),
        user("and?"),
    )
    after = run(codex.POLICY, "compact", buffer(*asked), Script(""))
    assert after.buffer.messages[-1].text == f"{codex.PREFIX}\nI look."
    after = run(codex.POLICY, "compact", buffer(user("go")), Script(""))
    assert after.buffer.messages[-1].text == f"{codex.PREFIX}\n"


def test_codex_keeps_the_words_of_a_user_message_and_not_its_images() -> None:
    picture = Image("image/png", "aGVsbG8=")
    shown = Message("p", "user", (Text("look"), picture, Text(" here")))
    before = buffer(user("plain"), shown, Message("q", "user", (picture,)), assistant("done"))
    after = run(codex.POLICY, "compact", before, Script("S"))
    kept = after.buffer.messages[:-1]
    assert [(message.id, message.parts) for message in kept[1:]] == [
        ("p", (Text("look here"),)),
        ("q", (Text(""),)),
    ]
    assert kept[0] is before.messages[0]
    assert after.changed["p"] == "cut"
    cut = run(codex.POLICY, "compact", buffer(shown), Script("S"), user_message_tokens=1)
    assert cut.buffer.messages[0].parts == (Text("lo…2 tokens truncated…re"),)


def test_codex_drops_the_oldest_after_each_overflow_of_the_summary() -> None:
    over = ContextWindowExceeded("too long")
    before = buffer(
        user("go"), assistant("", ("c", "Read", {})), result("c", "text"), assistant("done")
    )
    script = Script(over, over, "S")
    after = run(codex.POLICY, "compact", before, script)
    asked = [len(need.messages) for need in script.needs if isinstance(need, Summarize)]
    assert asked == [4, 3, 1]  # the result goes with its call
    assert after.events[0].fields["trimmed_items"] == 3
    script = Script(over, over, over, over)
    given_up = run(codex.POLICY, "compact", before, script)
    asked = [len(need.messages) for need in script.needs if isinstance(need, Summarize)]
    assert asked == [4, 3, 1, 0]  # at last the request by itself
    alone = run(codex.POLICY, "compact", before, Script(over, over, over, "S"))
    assert alone.succeeded
    assert (given_up.succeeded, given_up.error, given_up.buffer) == (
        False,
        "overflow_after_retries",
        before,
    )


def test_codex_leaves_the_buffer_when_nobody_answers() -> None:
    before = build(3, "x")
    after = run(codex.POLICY, "compact", before, Script(ProviderFailure("no")))
    assert (after.buffer, after.error) == (before, "provider_failure")


def test_codex_goes_by_an_estimate_after_a_compaction() -> None:
    before = buffer(user("x" * 400), assistant("y" * 400))
    (done,) = before_call(codex.POLICY, before, Script("S"), running=SimpleState(200, 190_000))
    assert done.running == SimpleState()
    sizes = [
        (
            one.tokens_after,
            believed_at(codex.POLICY, codex.POLICY.settings(), session.main, one.before_request),
        )
        for pattern in ("codex/**/*.jsonl", "clients/codex-*.jsonl")
        for session in map(open_transcript, transcripts(pattern))
        for one in session.main.compactions
        if one.kind == "summary"
        and one.tokens_after
        and one.before_request < len(session.main.requests)
    ]
    assert sizes or not ARE_REAL
    for recorded, ours in sizes:
        assert ours == pytest.approx(recorded, rel=0.2), "what Codex itself wrote down"
