"""Claude Code's policy: each rule by itself, and its line compared with the compactions that real sessions record."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector.core.arrivals import arrivals
from inspector.core.buffer import Buffer, Stretch
from inspector.core.formats.claude_code.unrecorded import client_tokens
from inspector.core.message import Message
from inspector.core.needs import Answer, ContextWindowExceeded, ReadFile, Summarize, drive
from inspector.core.outcome import Outcome, fates
from inspector.core.policies.claude_code import (
    COVERS,
    DIRECTLY,
    PLEASE,
    POLICY,
    SECTIONS,
    SUMMARIZED,
    ClaudeCodeSettings,
)
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.place import believed_at, buffer_at, moment_at
from inspector.core.policies.replacements import PLACEHOLDER
from inspector.core.policies.verdict import CallReport, PolicyInput
from inspector.core.session import Compaction, Session, Thread
from inspector.core.tokens.windows import find_window
from inspector.core.usage import Usage
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from tests.core.policies.build import Script, assistant, buffer, result, texts, user
from tests.shared import ARE_REAL, transcripts


def settings(**values: object) -> ClaudeCodeSettings:
    return POLICY.settings([(key, str(value)) for key, value in values.items()], 200_000)


def due(before: Buffer, moment: PolicyInput, **values: object) -> dict[str, bool]:
    chosen = settings(**values)
    return {
        one.tier: one.due
        for one in POLICY.due(PolicyContext(before, chosen, POLICY.fresh(chosen), moment))
    }


def called(
    before: Buffer, moment: PolicyInput, script: Script, **values: object
) -> tuple[Outcome[Any], ...]:
    chosen = settings(**values)
    return drive(
        POLICY.before_call(PolicyContext(before, chosen, POLICY.fresh(chosen), moment)), script
    )


def reported(upto: Message, prompt: int, output: int = 0, final: bool = True) -> PolicyInput:
    return PolicyInput(
        reports=(CallReport(upto.id, Usage(prompt, output=output, output_is_final=final)),)
    )


def long(results: int = 8, characters: int = 40_000) -> Buffer:
    """Results of 10,000 tokens each, the newest already read."""
    messages = [user("go")]
    for n in range(results):
        messages += [
            assistant("", (f"c{n}", "Read", {"file_path": f"/f{n}.py"})),
            result(f"c{n}", "x" * characters),
        ]
    return buffer(*messages, assistant("done"))


# -- when --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "limit"),
    [
        ({}, 167_000),
        ({"rules": "2.1.21"}, 167_000),
        ({"rules": "2.1.5"}, 155_000),
        ({"rules": "2.0.76"}, 155_000),
        ({"window": 1_000_000}, 967_000),
        ({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": 150_000}, 117_000),
        ({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": 900_000}, 167_000),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": 50}, 90_000),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": 99}, 167_000),
        ({"CLAUDE_CODE_MAX_OUTPUT_TOKENS": 8_000}, 179_000),
        ({"window": 40_000}, 20_000),
    ],
)
def test_the_line_lies_at_window_less_room_less_buffer(
    values: dict[str, object], limit: int
) -> None:
    chosen = settings(**values)
    assert chosen.limit == limit
    assert POLICY.watermarks(chosen)[-1].tokens == limit


@pytest.mark.parametrize(
    ("client", "rules"),
    [
        ("Claude Code 1.0.98", "2.0.76"),
        ("Claude Code 2.1.4", "2.0.76"),
        ("Claude Code 2.1.5", "2.1.5"),
        ("Claude Code 2.1.14 to 2.1.15", "2.1.5"),
        ("Claude Code 2.1.9 to 2.1.20", "2.1.5"),
        ("Claude Code 2.1.42", "2.1.21"),
        ("Claude Code 2.1.219", "2.1.43"),
        ("Claude Code 3.0", "2.1.43"),
    ],
)
def test_a_session_brings_the_rules_of_its_version(client: str, rules: str) -> None:
    assert POLICY.of_client(client) == (("rules", rules),)


@pytest.mark.parametrize(
    "client",
    ["", "Claude Code", "Codex v1.2b", "Codex 0.140.0", "claude-code", "Claude Code 2..1", "²"],
)
def test_no_version_brings_none(client: str) -> None:
    assert POLICY.of_client(client) == ()


def test_it_counts_the_report_its_output_and_what_came_since() -> None:
    answer = assistant("y" * 400, ("c", "Bash", {}))
    before = buffer(user("go"), answer, result("c", "z" * 4_000))
    for prompt, fires in ((165_899, False), (165_900, True)):
        assert due(before, reported(answer, prompt, 100))["auto"] is fires
    # The answer is estimated: 400 characters, 2 of arguments.
    placeholder = reported(answer, 165_900, 1, final=False)
    assert due(before, placeholder)["auto"]
    # As the file has it.
    assert not due(before, reported(answer, 153_998, 1, final=False), rules="2.1.5")["auto"]
    assert due(before, reported(answer, 153_999, 1, final=False), rules="2.1.5")["auto"]
    assert not due(before, reported(answer, 154_899, 100), rules="2.0.76")["auto"]
    assert due(before, reported(answer, 154_900, 100), rules="2.0.76")["auto"]


def test_without_a_report_that_stands_it_estimates() -> None:
    answer = assistant("gone")
    assert not due(buffer(user("x" * 4 * 166_999)), reported(answer, 1))["auto"]
    assert due(buffer(user("x" * 4 * 167_000)), reported(answer, 1))["auto"]
    assert due(buffer(user("x")), PolicyInput(overflow="prompt is too long"))["auto"]


def test_right_after_a_compaction_it_counts_the_messages_alone() -> None:
    """Not what the reports before it left over: those spoke of another buffer."""
    thread = open_transcript(str(resource("sample.jsonl"))).main
    after = thread.compactions[0].before_request
    chosen = POLICY.settings((), 200_000)
    messages = thread.requests[after].view.messages()
    assert believed_at(POLICY, chosen, thread, after) == sum(map(client_tokens, messages))
    for at, error in ((after - 1, 0.02), (after + 1, 0.05)):
        reported = thread.requests[at].usage
        assert reported is not None
        assert believed_at(POLICY, chosen, thread, at) == pytest.approx(reported.prompt, rel=error)


def test_recorded_sessions_tell_the_same_size_after_a_compaction() -> None:
    sizes = [
        (
            one.tokens_after,
            sum(map(client_tokens, session.main.requests[one.before_request].view.messages())),
        )
        for pattern in ("claude-code/**/*.jsonl", "clients/claude-*.jsonl")
        for session in map(open_transcript, transcripts(pattern))
        for one in session.main.compactions
        if one.tokens_after is not None and one.before_request < len(session.main.requests)
    ]
    assert sizes or not ARE_REAL
    for recorded_size, ours in sizes:
        assert ours == pytest.approx(recorded_size, rel=0.2)


# -- micro-compaction --------------------------------------------------------------------------------------------------


def test_micro_compaction_clears_the_oldest_from_20_000_below_the_line_on() -> None:
    before = long()
    end = before.messages[-1]
    assert due(before, reported(end, 134_999), rules="2.1.5") == {"micro": False, "auto": False}
    assert due(before, reported(end, 135_000), rules="2.1.5") == {"micro": True, "auto": False}
    assert due(before, reported(end, 150_000), rules="2.1.21") == {"micro": False, "auto": False}
    (done,) = called(before, reported(end, 135_000), Script(), rules="2.1.5")
    contents = [one.result.content for one in done.buffer.messages if one.result]
    assert [content == PLACEHOLDER for content in contents] == [True] * 4 + [False] * 4
    assert Counter(one.name for one in fates(before, done)) == {"kept": 14, "cleared": 4}


def test_micro_compaction_needs_enough_to_save() -> None:
    small = long(5)
    assert due(small, reported(small.messages[-1], 140_000), rules="2.1.5")["micro"] is False
    assert (
        due(small, reported(small.messages[-1], 140_000), rules="2.1.5", micro_least=10_000)[
            "micro"
        ]
        is True
    )
    assert called(small, reported(small.messages[-1], 140_000), Script(), rules="2.1.5") == ()


def test_the_count_does_not_fall_by_micro_compaction() -> None:
    before = long()
    done = called(
        before, reported(before.messages[-1], 155_000), Script("S"), rules="2.1.5", restore_files=0
    )
    assert [one.tier for one in done] == ["micro", "auto"]


# -- compaction --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "opening", "closing"),
    [
        ("2.0.76", SUMMARIZED, PLEASE),
        ("2.1.5", COVERS, PLEASE),
        ("2.1.21", COVERS, PLEASE),
        ("2.1.43", COVERS, DIRECTLY),
    ],
)
def test_a_summary_stands_in_its_frame(rules: str, opening: str, closing: str) -> None:
    before, script = (
        buffer(user("go"), assistant("done")),
        Script("1. Primary Request and Intent: go"),
    )
    (done,) = called(before, reported(before.messages[-1], 167_000), script, rules=rules)
    expected = f"{opening}Summary:\n1. Primary Request and Intent: go\n\n{closing}"
    assert texts(done.buffer.messages) == [expected]
    assert done.buffer.messages[0].summary
    (need,) = script.needs
    assert isinstance(need, Summarize)
    assert need.messages == before.messages
    assert all(f"{n}. {title}:" in need.text for n, title in enumerate(SECTIONS, 1))
    assert {one.name for one in fates(before, done)} == {"summarised", "inserted"}
    assert done.events[0].fields["preTokens"] == 167_000


def test_the_files_used_last_come_back_newest_first() -> None:
    before = buffer(
        user("go"),
        *(assistant("", (f"c{n}", "Read", {"file_path": f"/f{n % 7}.py"})) for n in range(9)),
        assistant(
            "",
            ("b", "Bash", {"command": "cat /other.py"}),
            ("w", "Write", {"file_path": "/new.py", "content": ""}),
        ),
        assistant("", ("odd", "Read", {"file_path": 3}), ("text", "Read", "not json")),
    )
    script = Script("S", *(Answer(text=f"text {n}") for n in range(5)))
    (done,) = called(before, PolicyInput(overflow="too long"), script)
    paths = [need.path for need in script.needs if isinstance(need, ReadFile)]
    assert paths == ["/new.py", "/f1.py", "/f0.py", "/f6.py", "/f5.py"]
    assert texts(done.buffer.messages[1:]) == [
        f"File {path}:\ntext {n}" for n, path in enumerate(paths)
    ]
    assert all(one.mark == "attachment" and not one.summary for one in done.buffer.messages[1:])
    assert len({one.id for one in done.buffer.messages}) == 6


def test_a_large_file_is_named_and_one_that_cannot_be_read_is_left_out() -> None:
    before = long(3)
    (done,) = called(
        before, PolicyInput(overflow="too long"), Script("S", Answer(text="x" * 20_001))
    )
    assert texts(done.buffer.messages[1:]) == [
        "File /f2.py was read before the compaction; it is too large to be included."
    ]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (Script(), "provider_failure"),
        (Script(" \n"), "empty_summary"),
        (Script(ContextWindowExceeded("too long")), "overflow_after_retries"),
    ],
)
def test_a_failed_summary_changes_nothing(script: Script, error: str) -> None:
    before = buffer(user("go"))
    (done,) = called(before, PolicyInput(overflow="too long"), script)
    assert (done.succeeded, done.error, done.buffer) == (False, error, before)


# -- compared with what was recorded -----------------------------------------------------------------------------------

NEAR = 2
"""Requests between the recorded compaction and the policy's."""


def first_due(session: Session, thread: Thread, start: int, compaction: Compaction) -> int | None:
    """The request from `start` on before which the policy would compact; the buffer before the recorded compaction is
    that of the call before it, with its answer and what came since."""
    end = compaction.before_request
    came = arrivals(thread)[end]
    whole = Stretch(thread.requests[end - 1].view, [*came.answer, *came.new]).view()
    earlier = tuple(one for one in thread.compactions if one.before_request <= start)
    cut = replace(thread, requests=thread.requests[:end], end=whole, compactions=earlier)
    window = find_window(session, thread).tokens
    chosen = POLICY.settings(POLICY.of_client(session.client), window)
    for at in range(start, end + 1):
        verdicts = POLICY.due(
            PolicyContext(
                buffer_at(POLICY, cut, at), chosen, POLICY.fresh(chosen), moment_at(cut, at)
            )
        )
        if verdicts[-1].due:
            return at
    return None


def recorded(paths: Iterator[Path]) -> Iterator[tuple[Path, int, int | None, bool]]:
    """(file, request of a compaction, where the policy fires since the one before, recorded as automatic)."""
    for path in paths:
        session = open_transcript(path)
        start = 0
        for one in session.main.compactions:
            if one.kind == "summary" and one.before_request:
                yield (
                    path,
                    one.before_request,
                    first_due(session, session.main, start, one),
                    one.trigger == "auto",
                )
            start = one.before_request


def test_it_fires_where_recorded_sessions_compacted() -> None:
    found = [
        one
        for pattern in ("claude-code/**/*.jsonl", "derived-merged/**/*.jsonl")
        for one in recorded(transcripts(pattern))
    ]
    automatic = [(at, ours) for _, at, ours, auto in found if auto]
    if not automatic:
        pytest.skip("no recorded compaction at hand")
    hits = sum(ours is not None and abs(ours - at) <= NEAR for at, ours in automatic)
    assert hits >= 0.9 * len(automatic) or not ARE_REAL
    by_hand = [(at, ours) for _, at, ours, auto in found if not auto]
    early = sum(ours is not None for _, ours in by_hand)
    assert early <= 0.1 * len(by_hand), "where the user compacted it would have done so before"


def test_every_recorded_summary_has_the_sections() -> None:
    summaries = [
        one.summary.text.lower()
        for pattern in ("claude-code/**/*.jsonl", "derived-merged/**/*.jsonl")
        for path in transcripts(pattern)
        for one in open_transcript(path).main.compactions
        if one.summary is not None
    ]
    if not summaries:
        pytest.skip("no recorded summary at hand")
    for text in summaries:
        places = [text.rfind(title.lower()) for title in (SECTIONS if ARE_REAL else SECTIONS[:-1])]
        assert -1 not in places
        assert text.startswith((COVERS.lower().strip(), SUMMARIZED.lower().strip()))
