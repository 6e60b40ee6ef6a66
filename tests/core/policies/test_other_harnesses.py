"""What other harnesses do today (spec Part 3, grade A): Codex, Anthropic's context editing, opencode, Gemini CLI."""

from typing import Any

import pytest

from inspector.core.answering import offline
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Image, Message, Text
from inspector.core.needs import Answer, ContextWindowExceeded, ProviderFailure, SaveText, Summarize, drive
from inspector.core.outcome import Outcome
from inspector.core.policies import anthropic_editing, codex, gemini, none, opencode
from inspector.core.policies.harness import Policy, SimpleState
from inspector.core.policies.replacements import PLACEHOLDER
from inspector.core.policies.start import believed_at
from inspector.core.policies.verdict import PolicyInput
from inspector.transcripts.files import open_transcript
from tests.core.policies.build import Script, assistant, buffer, build, result, texts, user
from tests.shared import transcripts

OTHERS: list[Policy[Any, Any]] = [
    codex.POLICY,
    anthropic_editing.POLICY,
    opencode.POLICY,
    gemini.POLICY,
    none.POLICY,
]


def run(
    policy: Policy[Any, Any],
    tier: str,
    before: Buffer,
    script: Script | None = None,
    window: int = 200_000,
    moment: PolicyInput | None = None,
    **values: object,
) -> Outcome[Any]:
    settings = policy.settings([(key, str(value)) for key, value in values.items()], window)
    answer = script or Script()
    return drive(policy.tier(tier, before, settings, policy.fresh(settings), moment or PolicyInput()), answer)


def before_call(
    policy: Policy[Any, Any],
    before: Buffer,
    script: Script | None = None,
    window: int = 200_000,
    running: SimpleState | None = None,
    overflow: str = "",
    **values: object,
) -> tuple[Outcome[Any], ...]:
    settings = policy.settings([(key, str(value)) for key, value in values.items()], window)
    start = running or policy.fresh(settings)
    talk = policy.before_call(before, settings, start, PolicyInput(overflow=overflow))
    return drive(talk, script or Script())


# -- what all have in common -------------------------------------------------------------------------------------------


def test_size_is_what_was_reported_and_what_came_since() -> None:
    settings = codex.POLICY.settings()
    before = buffer(user("x" * 400), assistant("y" * 400))
    raw, first = codex.POLICY.measure(before, settings, SimpleState())
    assert raw == first == 200
    known = codex.POLICY.learn(SimpleState(), settings, raw, 5_200)
    longer = before.with_messages([*before.messages, user("z" * 40)])
    assert codex.POLICY.measure(longer, settings, known) == (210, 5_210)
    too_much = codex.POLICY.learn(SimpleState(), settings, raw, 100)
    assert codex.POLICY.measure(longer, settings, too_much)[1] == 105
    assert codex.POLICY.learn(known, settings, 0, 10) is known


def test_codex_goes_by_an_estimate_after_a_compaction() -> None:
    before = buffer(user("x" * 400), assistant("y" * 400))
    (done,) = before_call(codex.POLICY, before, Script("S"), running=SimpleState(200, 190_000))
    assert done.running == SimpleState()
    sizes = [
        (one.tokens_after, believed_at(codex.POLICY, codex.POLICY.settings(), session.main, one.before_request))
        for pattern in ("codex/**/*.jsonl", "clients/codex-*.jsonl")
        for session in map(open_transcript, transcripts(pattern))
        for one in session.main.compactions
        if one.kind == "summary" and one.tokens_after and one.before_request < len(session.main.requests)
    ]
    for recorded, ours in sizes:
        assert ours == pytest.approx(recorded, rel=0.2), "what Codex itself wrote down"


@pytest.mark.parametrize("policy", OTHERS, ids=lambda policy: policy.name)
def test_state_survives_its_json(policy: Policy[Any, Any]) -> None:
    settings = policy.settings()
    state = SimpleState(10, 20, 3)
    assert policy.load(settings, policy.dump(state)) == state
    assert policy.load(settings, {}) == policy.fresh(settings)
    for nonsense in (3, {"reported": -1}, {"estimated": "many"}):
        with pytest.raises(InspectorError):
            policy.load(settings, nonsense)


@pytest.mark.parametrize("policy", OTHERS, ids=lambda policy: policy.name)
def test_nothing_is_due_on_a_small_buffer(policy: Policy[Any, Any]) -> None:
    settings, small = policy.settings(), build(2, "x")
    assert not any(verdict.due for verdict in policy.due(small, settings, policy.fresh(settings), PolicyInput()))
    (done,) = drive(policy.run_due(small, settings, policy.fresh(settings), PolicyInput()), offline)
    assert done.buffer is small
    assert not done.events
    with pytest.raises(InspectorError, match="has no tier"):
        drive(policy.tier("L9", small, settings, policy.fresh(settings), PolicyInput()), offline)


@pytest.mark.parametrize("policy", OTHERS, ids=lambda policy: policy.name)
def test_an_empty_buffer_is_left_alone(policy: Policy[Any, Any]) -> None:
    settings, empty = policy.settings((), 10), Buffer(())
    moment = PolicyInput(overflow="too long")
    assert not any(verdict.due for verdict in policy.due(empty, settings, policy.fresh(settings), moment))
    for tier in policy.tiers:
        assert drive(policy.tier(tier.name, empty, settings, policy.fresh(settings), moment), offline).buffer == empty


# -- Codex -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "window", "limit"),
    [({}, 200_000, 180_000), ({"auto_limit": 50_000}, 200_000, 50_000), ({"auto_limit": 199_000}, 200_000, 180_000)],
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
    ("answer", "text"), [("", "(no summary available)"), ("  \n", "  \n"), ("\n## Done\n- a\n", "\n## Done\n- a\n")]
)
def test_codex_takes_the_summary_as_it_came(answer: str, text: str) -> None:
    after = run(codex.POLICY, "compact", build(3, "x"), Script(answer))
    assert after.buffer.messages[-1].text == f"{codex.PREFIX}\n{text}"


def test_codex_keeps_the_words_of_a_user_message_and_not_its_images() -> None:
    picture = Image("image/png", "aGVsbG8=")
    shown = Message("p", "user", (Text("look"), picture, Text(" here")))
    before = buffer(user("plain"), shown, Message("q", "user", (picture,)), assistant("done"))
    after = run(codex.POLICY, "compact", before, Script("S"))
    kept = after.buffer.messages[:-1]
    assert [(message.id, message.parts) for message in kept[1:]] == [("p", (Text("look here"),)), ("q", (Text(""),))]
    assert kept[0] is before.messages[0]
    assert after.changed["p"] == "cut"
    cut = run(codex.POLICY, "compact", buffer(shown), Script("S"), user_message_tokens=1)
    assert cut.buffer.messages[0].parts == (Text("lo…2 tokens truncated…re"),)


def test_codex_drops_the_oldest_after_each_overflow_of_the_summary() -> None:
    over = ContextWindowExceeded("too long")
    before = buffer(user("go"), assistant("", ("c", "Read", {})), result("c", "text"), assistant("done"))
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
    assert (given_up.succeeded, given_up.error, given_up.buffer) == (False, "overflow_after_retries", before)


def test_codex_leaves_the_buffer_when_nobody_answers() -> None:
    before = build(3, "x")
    after = run(codex.POLICY, "compact", before, Script(ProviderFailure("no")))
    assert (after.buffer, after.error) == (before, "provider_failure")


# -- Anthropic ---------------------------------------------------------------------------------------------------------


def cleared(outcome: Outcome[Any]) -> list[int]:
    return [n for n, text in enumerate(texts(outcome.buffer.messages)) if text == PLACEHOLDER]


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ({}, [2, 4]),
        ({"keep": 0}, [2, 4, 6, 8, 10]),
        ({"keep": 9}, []),
        ({"exclude_tools": "Bash"}, []),
        ({"exclude_tools": "Read, Other"}, [2, 4]),
    ],
)
def test_editing_clears_all_but_the_newest(values: dict[str, Any], places: list[int]) -> None:
    before = build(5, "x" * 400)
    after = run(anthropic_editing.POLICY, "clear", before, **values)
    assert cleared(after) == places
    assert all(call for message in after.buffer.messages for call in message.calls)
    again = run(anthropic_editing.POLICY, "clear", after.buffer, **values)
    assert again.buffer == after.buffer


def test_editing_clears_inputs_only_when_asked() -> None:
    before = build(5, "x" * 400)
    kept = run(anthropic_editing.POLICY, "clear", before)
    assert next(call.arguments for m in kept.buffer.messages for call in m.calls) == {"command": "echo 0"}
    bare = run(anthropic_editing.POLICY, "clear", before, clear_tool_inputs=True)
    assert [call.arguments for m in bare.buffer.messages for call in m.calls][:3] == [{}, {}, {"command": "echo 2"}]
    assert bare.events[0].fields["cleared_tool_uses"] == 2


@pytest.mark.parametrize(
    ("values", "fires"),
    [
        ({}, False),
        ({"trigger_value": 100}, True),
        ({"trigger_value": 100, "clear_at_least": 170}, True),
        ({"trigger_value": 100, "clear_at_least": 200}, False),
        ({"trigger": "tool_uses", "trigger_value": 5}, False),
        ({"trigger": "tool_uses", "trigger_value": 4}, True),
        ({"trigger": "tool_uses"}, False),
    ],
)
def test_editing_triggers(values: dict[str, Any], fires: bool) -> None:
    before = build(5, "x" * 400)
    assert bool(before_call(anthropic_editing.POLICY, before, **values)) is fires
    settings = anthropic_editing.POLICY.settings([(key, str(value)) for key, value in values.items()])
    (verdict,) = anthropic_editing.POLICY.due(before, settings, SimpleState(), PolicyInput())
    assert verdict.due is fires


def test_editing_has_no_line_for_tool_uses() -> None:
    by = anthropic_editing.POLICY
    assert [line.tokens for line in by.watermarks(by.settings())] == [100_000]
    assert not by.watermarks(by.settings([("trigger", "tool_uses")]))


# -- opencode ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "usable", "tail"),
    [(200_000, 148_000, 15_000), (128_000, 76_000, 15_000), (40_000, 20_000, 5_000), (8_000, 4_000, 2_000)],
)
def test_opencode_usable_window_and_tail(window: int, usable: int, tail: int) -> None:
    settings = opencode.POLICY.settings((), window)
    assert (settings.usable, settings.tail_tokens) == (usable, tail)


def turns(*sizes: int, tool: str = "Read") -> Buffer:
    """One user turn each, with one tool result of so many tokens."""
    messages = []
    for n, size in enumerate(sizes):
        messages += [user(f"wish {n}"), assistant("", (f"c{n}", tool, {})), result(f"c{n}", "x" * size * 4)]
    return buffer(*messages)


@pytest.mark.parametrize(
    ("sizes", "places"),
    [
        ((30_000, 30_000, 99_000, 9), [2]),  # 60,000 count, the older 30,000 can go
        ((20_000, 40_000, 9, 9), []),  # just 20,000 can go: not more
        ((20_001, 40_000, 9, 9), [2]),
        ((9_000, 9_000, 9_000, 41_000, 9, 9), [2, 5, 8, 11]),  # the one that crosses the line goes, too
        ((90_000, 90_000), []),  # both turns are protected
    ],
)
def test_opencode_prunes(sizes: tuple[int, ...], places: list[int]) -> None:
    before, settings = turns(*sizes), opencode.POLICY.settings()
    found, freed = opencode.prunable(before.messages, settings)
    due = freed > settings.prune_minimum
    assert (sorted(found) if due else []) == places
    done = drive(opencode.POLICY.after_turn(before, settings, SimpleState(), PolicyInput()), Script())
    assert [cleared(outcome) for outcome in done] == ([places] if places else [])
    for outcome in done:
        assert not drive(opencode.POLICY.after_turn(outcome.buffer, settings, SimpleState(), PolicyInput()), Script())


def test_opencode_never_prunes_a_skill_nor_an_error() -> None:
    settings = opencode.POLICY.settings()
    assert not opencode.prunable(turns(90_000, 90_000, 9, 9, tool="skill").messages, settings)[0]
    failed = [result(m.result.call_id, m.result.content, True) if m.result else m for m in turns(90_000, 9, 9).messages]
    assert not opencode.prunable(failed, settings)[0]


@pytest.mark.parametrize(
    ("sizes", "budget", "start"),
    [
        ((10, 10, 10), 1_000, 9),  # all turns fit: then nothing would be summarised, so there is no tail
        ((500, 10, 10), 100, 3),
        ((500, 10, 500), 100, 9),  # not even the newest fits, and a result cannot stand alone
        ((10, 500, 10), 100, 6),
    ],
)
def test_opencode_tail(sizes: tuple[int, ...], budget: int, start: int) -> None:
    assert opencode.tail_start(turns(*sizes).messages, budget) == start


def test_opencode_splits_a_turn_that_does_not_fit() -> None:
    before = buffer(
        user("one"), assistant("a"), user("two"), assistant("", ("c1", "R", {})), result("c1", "x" * 4000),
        assistant("", ("c2", "R", {})), result("c2", "y" * 40), assistant("end"),
    )  # fmt: skip
    assert opencode.tail_start(before.messages, 100) == 5
    after = run(opencode.POLICY, "compact", before, Script("S"), tail_max=100, tail_min=1, tail_share=1)
    assert texts(after.buffer.messages) == [opencode.QUESTION, "S", "", "y" * 40, "end", opencode.GO_ON]
    assert after.changed[before.messages[2].id] == "summarised"


def test_opencode_updates_its_former_summary_and_cuts_outputs() -> None:
    script = Script("first", "second")
    first = run(opencode.POLICY, "compact", turns(1_000, 1_000), script, tail_max=0, tail_min=0)
    longer = first.buffer.with_messages([*first.buffer.messages, *turns(3_000).messages])
    after = run(opencode.POLICY, "compact", longer, script, tail_max=0, tail_min=0)
    need = script.needs[1]
    assert isinstance(need, Summarize)
    assert need.text.startswith("There is an earlier summary.")
    assert "\n\nfirst\n\n[User]: wish 0\n\n" in need.text
    assert need.text.endswith("x" * 2_000 + "\n[truncated]")
    assert texts(after.buffer.messages) == [opencode.QUESTION, "second", opencode.GO_ON]


def test_opencode_replays_the_last_user_message_after_an_overflow() -> None:
    before = turns(10, 10)
    (after,) = before_call(opencode.POLICY, before, Script("S"), overflow="too long")
    assert texts(after.buffer.messages) == [opencode.QUESTION, "S", "wish 1"]
    assert after.buffer.messages[-1] is before.messages[3]
    (alone,) = before_call(opencode.POLICY, turns(10), Script("S"), overflow="too long", tail_max=0, tail_min=0)
    assert texts(alone.buffer.messages) == [opencode.QUESTION, "S", opencode.GO_ON]


@pytest.mark.parametrize(("answer", "error"), [("", "empty_summary"), (ProviderFailure("no"), "provider_failure")])
def test_opencode_leaves_the_buffer_without_a_summary(answer: Any, error: str) -> None:
    before = turns(10, 10)
    after = run(opencode.POLICY, "compact", before, Script(answer), tail_max=0, tail_min=0)
    assert (after.buffer, after.error) == (before, error)


# -- Gemini CLI --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tokens", "fires"), [(499, False), (500, True), (501, True)])
@pytest.mark.parametrize("window", [1000, 999])
def test_gemini_fires_from_half_of_the_window_on(tokens: int, fires: bool, window: int) -> None:
    before = buffer(user("x" * 4 * (tokens - 1)), assistant("done"))
    assert bool(before_call(gemini.POLICY, before, Script("S", "S"), window=window)) is fires
    settings = gemini.POLICY.settings((), window)
    verdicts = gemini.POLICY.due(before, settings, SimpleState(), PolicyInput())
    assert [verdict.due for verdict in verdicts] == [False, fires]
    assert verdicts[1].limit == 500


def test_gemini_keeps_the_newest_and_asks_twice() -> None:
    before = buffer(*(user("u" * 400) if n % 2 == 0 else assistant("a" * 400) for n in range(10)))
    script = Script("<state_snapshot>draft</state_snapshot>", "<state_snapshot>better</state_snapshot>")
    after = run(gemini.POLICY, "compress", before, script)
    assert texts(after.buffer.messages[:2]) == ["<state_snapshot>better</state_snapshot>", gemini.ACKNOWLEDGED]
    assert after.buffer.messages[2:] == before.messages[8:]  # 0.7 of the characters lie before message 7, 8 is a user's
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
        ((user("x" * 900), assistant("a"), user("y"), assistant("b", ("c", "R", {})), result("c", "r")), 2),
        ((user("x"), assistant("a"), user("y"), assistant("b" * 900, ("c", "R", {})), result("c", "r")), 2),
    ],
)
def test_gemini_cuts_before_a_user_message(messages: tuple[Message, ...], split: int) -> None:
    assert gemini.split_point(messages, 0.7) == split


INFLATED = ("s", "s" * 5_000)


def test_gemini_rejects_an_inflated_result_and_then_only_truncates() -> None:
    before = buffer(user("x" * 400), assistant("a" * 400), user("y"), assistant("b"))
    (rejected,) = before_call(gemini.POLICY, before, Script(*INFLATED), window=10)
    assert (rejected.buffer, rejected.error, rejected.running.failures) == (before, "inflated", 1)
    script = Script()
    assert not before_call(gemini.POLICY, before, script, window=10, running=rejected.running)
    assert not script.needs
    verdicts = gemini.POLICY.due(before, gemini.POLICY.settings((), 10), rejected.running, PolicyInput())
    assert [verdict.due for verdict in verdicts] == [True, False]
    settings = gemini.POLICY.settings()
    by_hand = drive(gemini.POLICY.tier("compress", before, settings, rejected.running, PolicyInput()), Script("s", "s"))
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
    assert old.content == f"{told}\n{long[:8_000]}\n\n... [58,890 characters omitted] ...\n\n{long[-32_000:]}"
    assert after.changed == {before.messages[2].id: "cut"}
    unsaved = run(gemini.POLICY, "truncate", before, Script(ProviderFailure("no")), tool_response_tokens=30_000)
    assert unsaved.buffer == before
    narrow = run(
        gemini.POLICY, "truncate", before, Script(Answer(text="f")), window=50_000, tool_response_tokens=30_000
    )
    cut = narrow.buffer.messages[2].result
    room = 4 * (50_000 - gemini.POLICY.tokens(before, gemini.POLICY.settings(), SimpleState()))
    assert cut
    assert cut.content.startswith(f"Output too large. Showing first {room // 5:,} and last {room - room // 5:,} ")


@pytest.mark.parametrize(
    ("text", "room", "first", "last", "omitted"),
    [
        ("abcdefghij", 5, "a", "ghij", "5"),
        ("abcdefghij", 4, "", "ghij", "6"),
        ("中文字中文字中文字中", 5, "中", "中文字中", "5"),
        ("\U0001f600" * 5, 5, "�", "\U0001f600" * 2, "5"),  # a character is two units: one stays half
        ("abcdefghij", 0, "", "abcdefghij", "10"),  # JavaScript's slice(-0) is all of it
        ("abcdefghij", -5, "abcdefghi", "efghij", "15"),
    ],
)
def test_gemini_head_and_tail(text: str, room: int, first: str, last: str, omitted: str) -> None:
    cut = gemini.head_and_tail(text, "f", room)
    assert cut.partition("\n")[2] == f"{first}\n\n... [{omitted} characters omitted] ...\n\n{last}"
