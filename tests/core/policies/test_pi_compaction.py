"""Pi's compaction: calls, serialised messages, overflows, events, placement and failures."""

from typing import Any

import pytest

from inspector.core.buffer import Buffer
from inspector.core.message import Message, Text, Thinking, ToolCall
from inspector.core.needs import Answer, Failure, ProviderFailure, Summarize, drive
from inspector.core.outcome import Outcome, fates
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.pi import POLICY, PiPolicy
from inspector.core.policies.pi.compaction import Supplied, Veto
from inspector.core.policies.pi.context_size import is_overflow, read_summary, says_overflow
from inspector.core.policies.pi.files import NO_FILES, Files, files_in, files_of
from inspector.core.policies.pi.serialising import serialise_messages
from inspector.core.policies.pi.settings import PiState
from inspector.core.policies.verdict import CallReport, PolicyInput
from inspector.core.usage import Usage
from tests.core.policies.build import Script, assistant, buffer, plain, result, texts, user

BOOM = ProviderFailure("boom")
LEAD = "The conversation history before this point was compacted into the following summary:"


def run(
    start: Buffer,
    script: Script,
    *values: tuple[str, str],
    running: PiState | None = None,
    moment: PolicyInput | None = None,
    policy: PiPolicy = POLICY,
) -> Outcome[PiState]:
    settings = policy.settings(values or [("keepRecentTokens", "150")])
    return drive(
        policy.tier(
            "compact", PolicyContext(start, settings, running or PiState(), moment or PolicyInput())
        ),
        script,
    )


def event(outcome: Outcome[PiState], name: str) -> Any:
    return next(one.fields for one in outcome.events if one.name == name)


def asked(script: Script) -> list[Summarize]:
    return [need for need in script.needs if isinstance(need, Summarize)]


# --- compact


def test_compaction_when_no_turn_is_split_makes_one_call() -> None:
    script = Script("SUM1")
    outcome = run(plain(4), script)
    (need,) = asked(script)
    assert need.max_tokens == 13_107
    assert event(outcome, "auto_compaction_end")["result"]["summary"] == "SUM1"
    assert "<conversation>\n[User]: " in need.text
    assert "Additional focus" not in need.text


def test_compaction_when_a_turn_is_split_makes_two_calls_and_focuses_the_first() -> None:
    script = Script("SUM1", "SUM2")
    outcome = run(
        plain(4), script, ("keepRecentTokens", "100"), moment=PolicyInput(instructions="the API")
    )
    first, second = asked(script)
    assert (first.max_tokens, second.max_tokens) == (13_107, 8_192)
    assert first.text.endswith("\n\nAdditional focus: the API")
    assert "the API" not in second.text
    expected = "SUM1\n\n---\n\n**Turn Context (split turn):**\n\nSUM2"
    assert read_summary(outcome.buffer.messages[0]) == expected


def test_compaction_when_only_a_turn_is_split_says_that_there_is_no_history() -> None:
    script = Script("SUM1")
    outcome = run(
        buffer(user("x" * 400), assistant("x" * 400), assistant("x" * 400)),
        script,
        ("keepRecentTokens", "100"),
    )
    assert [need.max_tokens for need in asked(script)] == [8_192]
    expected = "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\nSUM1"
    assert read_summary(outcome.buffer.messages[0]) == expected
    assert len(outcome.buffer.messages) == 2


def test_the_previous_summary_is_brought_up_to_date() -> None:
    first = run(plain(4), Script("OLD"))
    script = Script("NEW")
    longer = first.buffer.with_messages((*first.buffer.messages, *plain(4).messages))
    second = run(longer, script, running=first.running)
    (need,) = asked(script)
    assert "<previous-summary>\nOLD\n</previous-summary>" in need.text
    assert need.source == longer.messages[1:5]
    assert texts(second.buffer.messages[:1]) == [f"{LEAD}\n\n<summary>\nNEW\n</summary>"]
    assert second.buffer.messages[1:] == longer.messages[5:]


def test_with_legacy_start_what_was_kept_is_lost() -> None:
    first = run(plain(4), Script("OLD"))
    longer = first.buffer.with_messages((*first.buffer.messages, *plain(4).messages))
    values = [("keepRecentTokens", "150"), ("legacy_start", "yes")]
    second = run(longer, Script("NEW"), *values, running=first.running)
    names = {fate.id: fate.name for fate in fates(longer, second)}
    assert [names[message.id] for message in longer.messages] == [
        "summarised", "dropped", "dropped", "summarised", "summarised", "kept", "kept",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("keep", "replies", "error"),
    [
        ("150", [BOOM], "Summarization failed: boom"),
        ("100", ["SUM1", BOOM], "Turn prefix summarization failed: boom"),
    ],
)
def test_compaction_when_the_model_fails_appends_nothing(
    keep: str, replies: list[str | Answer | Failure], error: str
) -> None:
    start = plain(4)
    outcome = run(start, Script(*replies), ("keepRecentTokens", keep))
    assert (outcome.succeeded, outcome.error) == (False, error)
    assert outcome.buffer is start
    assert event(outcome, "auto_compaction_end") == {
        "result": None, "aborted": False, "willRetry": False, "errorMessage": error,
    }  # fmt: skip
    assert outcome.running.failures == 1


def test_summary_when_compacted_is_a_user_message_in_front() -> None:
    start = plain(4)
    outcome = run(start, Script("S"))
    first = outcome.buffer.messages[0]
    assert (first.role, first.summary, first.text) == (
        "user",
        True,
        f"{LEAD}\n\n<summary>\nS\n</summary>",
    )
    assert outcome.buffer.messages[1:] == start.messages[2:]
    assert [fate.name for fate in fates(start, outcome)] == [
        "summarised",
        "summarised",
        "inserted",
        "kept",
        "kept",
    ]


def test_file_lists() -> None:
    calls = [
        ("1", "read", "b"),
        ("2", "read", "a"),
        ("3", "edit", "b"),
        ("4", "write", "c"),
        ("5", "bash", "z"),
    ]
    answer = assistant("", *((call, name, {"path": path}) for call, name, path in calls))
    results = [result(call, "x") for call, _, _ in calls]
    start = buffer(user("go"), answer, *results, *plain(2).messages)
    outcome = run(start, Script("S"))
    lists = "\n\n<read-files>\na\n</read-files>\n\n<modified-files>\nb\nc\n</modified-files>"
    assert read_summary(outcome.buffer.messages[0]) == f"S{lists}"
    ended = event(outcome, "auto_compaction_end")["result"]
    assert ended["details"] == {"readFiles": ["a"], "modifiedFiles": ["b", "c"]}
    again = outcome.buffer.with_messages(
        (*outcome.buffer.messages, assistant("", ("6", "write", {"path": "a"})))
    )
    again = again.with_messages((*again.messages, result("6", "ok"), *plain(2).messages))
    second = run(again, Script("S2"), running=outcome.running)
    details = event(second, "auto_compaction_end")["result"]["details"]
    assert details == {"readFiles": [], "modifiedFiles": ["a", "b", "c"]}


def test_compaction_when_an_extension_vetoes_it_appends_nothing() -> None:
    start, script = plain(4), Script("S")
    outcome = run(start, script, policy=PiPolicy(extension=lambda _: Veto()))
    assert outcome.buffer is start
    assert script.needs == []
    assert event(outcome, "auto_compaction_end") == {
        "result": None,
        "aborted": True,
        "willRetry": False,
    }
    assert outcome.running.failures == 0


def test_an_extension_supplies_the_summary() -> None:
    script = Script()
    outcome = run(
        plain(4), script, policy=PiPolicy(extension=lambda _: Supplied("MINE", Files(("a",))))
    )
    assert (script.needs, read_summary(outcome.buffer.messages[0])) == ([], "MINE")
    assert event(outcome, "auto_compaction_end")["result"]["details"]["readFiles"] == ["a"]
    assert event(outcome, "session_compact")["fromExtension"] is True


def test_events_in_order() -> None:
    names = [one.name for one in run(plain(4), Script("S")).events]
    assert names == [
        "auto_compaction_start",
        "session_before_compact",
        "session_compact",
        "auto_compaction_end",
    ]


def test_nothing_to_compact() -> None:
    once = run(plain(4), Script("S"))
    for start, running in (
        (buffer(), PiState()),
        (once.buffer, once.running),
        (plain(2), PiState()),
    ):
        outcome = run(start, Script(), running=running)
        assert (outcome.buffer, outcome.succeeded, outcome.error) == (start, False, "")
        assert [one.name for one in outcome.events] == [
            "auto_compaction_start",
            "auto_compaction_end",
        ]


@pytest.mark.parametrize(("mode", "succeeded"), [("faithful", True), ("safe", False)])
def test_an_empty_summary(mode: str, succeeded: bool) -> None:
    outcome = run(plain(4), Script(" "), ("keepRecentTokens", "150"), ("mode", mode))
    assert outcome.succeeded is succeeded


def test_no_model_is_a_failure() -> None:
    script = Script("S")
    outcome = run(plain(4), script, moment=PolicyInput(router=False))
    assert (outcome.succeeded, script.needs) == (False, [])


@pytest.mark.parametrize(("mode", "expected"), [("faithful", "No prior history."), ("safe", "OLD")])
def test_a_split_turn_right_behind_a_summary(mode: str, expected: str) -> None:
    """Upstream forgets the previous summary where nothing but the turn's prefix is summarised."""
    first = run(plain(4), Script("OLD"))
    kept = first.buffer.messages
    longer = first.buffer.with_messages((*kept, assistant("x" * 400), assistant("x" * 400)))
    second = run(
        longer, Script("PREFIX"), ("keepRecentTokens", "100"), ("mode", mode), running=first.running
    )
    assert read_summary(second.buffer.messages[0]).startswith(f"{expected}\n\n---")


def test_the_newest_user_message_goes_into_the_prefix_unless_it_is_pinned() -> None:
    start = buffer(
        *plain(2).messages,
        user("DO THIS"),
        assistant("x" * 400),
        assistant("x" * 400),
        assistant("x" * 400),
    )
    values = [("keepRecentTokens", "100")]
    assert "DO THIS" not in texts(run(start, Script("A", "B"), *values).buffer.messages)
    pinned = run(start, Script("A", "B"), *values, ("pin_last_user", "yes"))
    assert texts(pinned.buffer.messages)[1] == "DO THIS"
    assert {fate.id: fate.name for fate in fates(start, pinned)}[start.messages[2].id] == "kept"


def test_system_messages_in_front_stay() -> None:
    system = Message("s", "system", (Text("rules"),))
    outcome = run(buffer(system, *plain(4).messages), Script("S"))
    assert outcome.buffer.messages[0] is system
    assert outcome.buffer.messages[1].summary


def test_files_of_other_harnesses_and_back() -> None:
    calls = [
        ("1", "Read", {"file_path": "a"}),
        ("2", "Edit", {"file_path": "b"}),
        ("3", "read", "free text"),
    ]
    found = files_of([assistant("", *calls)], NO_FILES)  # type: ignore[arg-type]
    assert found == Files(("a",), ("b",))
    assert files_in(f"S{found.text()}") == found
    assert files_in("no lists") == files_in("S\n</read-files>") == NO_FILES


# --- serialisation


def test_serialised_messages_when_all_kinds_occur_have_labels() -> None:
    answer = Message(
        "a", "assistant",
        (Thinking("t"), Text("x"), ToolCall("1", "read", {"path": "a", "n": 1}), ToolCall("2", "ls", {})),
    )  # fmt: skip
    assert serialise_messages([user("hi"), answer, result("1", "z" * 2001)]) == (
        "[User]: hi\n\n[Assistant thinking]: t\n\n[Assistant]: x\n\n"
        '[Assistant tool calls]: read(path="a", n=1); ls()\n\n'
        f"[Tool result]: {'z' * 2000}\n\n[... 1 more characters truncated]"
    )


def test_serialisation_cuts_in_utf_16_units() -> None:
    assert serialise_messages([result("c", "😀" * 1001)]).endswith(
        "😀\n\n[... 2 more characters truncated]"
    )
    assert serialise_messages([result("c", "中" * 2000)]) == f"[Tool result]: {'中' * 2000}"
    assert serialise_messages([user(""), result("c", ""), Message("m", "assistant", ())]) == ""


# --- overflow


@pytest.mark.parametrize(
    "error",
    [
        "prompt is too long: 213462 tokens > 200000 maximum",
        "Input is too long for requested model.",
        "Your input exceeds the context window of this model",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
        "Please reduce the length of the messages or completion",
        "This endpoint's maximum context length is 8192 tokens",
        "the prompt token count of 9000 exceeds the limit of 8000",
        "the request exceeds the available context size, try increasing it",
        "tokens to keep from the initial prompt is greater than the context length",
        "invalid params, context window exceeds limit",
        "Your request exceeded model token limit: 8192",
        "Prompt contains 9000 tokens, too large for model with 8192 maximum context length",
        "finish: model_context_window_exceeded",
        "context_length_exceeded",
        "Context length exceeded",
        "Too Many Tokens",
        "429 too many tokens",
        "token limit exceeded",
        "413 (no body)",
        "400 status code (no body)",
        "413 status code (no body)",
    ],
)
def test_error_text_when_it_names_the_limit_is_an_overflow(error: str) -> None:
    assert says_overflow(error)
    assert is_overflow("error", error)
    assert not is_overflow("stop", error)


@pytest.mark.parametrize(
    "error",
    [
        "429 status code (no body)",
        "500 (no body)",
        "error 413 (no body)",
        "rate limit exceeded",
        "",
        "boom",
    ],
)
def test_error_text_when_it_is_a_rate_limit_is_no_overflow(error: str) -> None:
    assert not says_overflow(error)


@pytest.mark.parametrize(("model", "compacts"), [("opus", True), ("gemini", False)])
def test_overflow_when_another_model_refused_is_not_recovered(model: str, compacts: bool) -> None:
    start, script = plain(4), Script("S")
    reports = (CallReport(start.messages[-1].id, None, "error", "opus"),)
    refused = PolicyInput(model=model, reports=reports, overflow="prompt is too long")
    settings = POLICY.settings([("keepRecentTokens", "150")])
    (outcome,) = drive(
        POLICY.before_call(PolicyContext(start, settings, PiState(), refused)), script
    )
    assert (outcome.succeeded, bool(script.needs)) == (compacts, compacts)


@pytest.mark.parametrize(
    ("finish", "usage", "window", "expected"),
    [
        ("stop", Usage(input=150_000, cache_read=60_000), 200_000, True),
        ("stop", Usage(input=140_000, cache_read=60_000), 200_000, False),
        ("toolUse", Usage(input=150_000, cache_read=60_000), 200_000, False),
        ("stop", None, 200_000, False),
        ("stop", Usage(input=1), 0, False),
    ],
)
def test_answer_when_its_prompt_exceeds_the_window_is_a_silent_overflow(
    finish: str, usage: Usage | None, window: int, expected: bool
) -> None:
    assert is_overflow(finish, "", usage, window) is expected
