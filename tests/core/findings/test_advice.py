"""Advice: what a session could have saved, the setting that does it, and nothing where there is nothing to gain."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from inspector.core.buffer import Prompt, Stretch, Tool
from inspector.core.findings.advice import MOST_ADVICE, Advice, session_advice
from inspector.core.findings.breakdown import tool_calls
from inspector.core.findings.file_copies import find_file_copies
from inspector.core.findings.spending import session_cost
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.session import Compaction, Request, Session, Thread
from inspector.core.usage import FIVE_MINUTES_S, HOUR_S, Usage
from tests.core.sessions import MODEL, said

WINDOW = 200_000
FILE = "\n".join(f"line {n} of the file, which is long enough to matter" for n in range(600))
OTHER_FILE = FILE.replace("line", "row")


def advise(thread: Thread, window: int = WINDOW, client: str = "claude-code") -> tuple[Advice, ...]:
    session = Session(client, (thread,), client="Claude Code 2.1.250")
    return session_advice(session, thread, session_cost(session), window)


def kinds_of(advice: tuple[Advice, ...]) -> list[str]:
    return [piece.kind for piece in advice]


def paused(*pauses_min: float, ttl_s: int = FIVE_MINUTES_S) -> Thread:
    """A thread of 50,000 tokens whose cache expired at every pause longer than its lifetime."""
    stretch, requests = Stretch(), list[Request]()
    time, prompt = datetime(2026, 1, 1, tzinfo=UTC), 50_000
    for n, pause in enumerate((0.0, *pauses_min)):
        stretch.append(Message(f"u{n}", "user", (Text(f"question {n}"),)))
        time += timedelta(minutes=pause)
        is_cold = n == 0 or pause * 60 > ttl_s
        written = prompt if is_cold else 1_000
        hourly = written if ttl_s == HOUR_S else 0
        usage = Usage(2, prompt - written, written, 50, cache_write_1h=hourly)
        requests.append(Request(n, stretch.view(), usage=usage, model=MODEL, time=time.isoformat()))
        prompt += 1_000
    return Thread("main", model=MODEL, requests=requests, end=stretch.view(), messages=stretch.own)


def test_advice_when_pauses_outlast_five_minutes_is_a_longer_lifetime() -> None:
    (piece,) = advise(paused(1, 10, 1, 20, 30))
    assert piece.kind == "cache-lifetime"
    assert piece.usd is not None
    assert piece.finding.startswith("A cache lifetime of 1 hour would have saved $")
    assert "3 pauses of 5 minutes to 1 hour" in piece.finding
    assert '"promptCacheTtl": "1h"' in piece.action
    assert (piece.request, piece.thread) == (5, "main")


def test_advice_when_the_lifetime_was_shortened_names_the_request() -> None:
    thread = paused(1, 10, 20, 30)
    first = thread.requests[0]
    assert first.usage is not None
    hourly = replace(first, usage=replace(first.usage, cache_write_1h=first.usage.cache_write))
    (piece,) = advise(replace(thread, requests=(hourly, *thread.requests[1:])))
    assert piece.kind == "cache-lifetime-dropped"
    assert "at request 1;" in piece.finding


def test_advice_when_no_pause_needs_an_hour_is_the_shorter_lifetime() -> None:
    assert kinds_of(advise(paused(1, 2, 1, 2, ttl_s=HOUR_S))) == ["short-cache-lifetime"]


@pytest.mark.parametrize("pauses", [(1, 2, 3), (90, 120)])
def test_advice_on_the_cache_when_one_hour_covers_no_pause_is_none(
    pauses: tuple[float, ...],
) -> None:
    assert kinds_of(advise(paused(*pauses))) == []


def test_advice_when_tools_are_never_called_names_the_largest_servers() -> None:
    schema = {"description": "what it does " * 3_000}
    tools = (
        Tool("Read", schema),
        Tool("mcp__github__search", schema),
        Tool("mcp__github__merge", schema),
    )
    thread = said(*[("read", f"f{n}.py x") for n in range(12)])
    prompt = Prompt("be brief", tools)
    usage = Usage(2, 30_000, 100, 10)
    requests = [replace(request, prompt=prompt, usage=usage) for request in thread.requests]
    (piece,) = (
        one for one in advise(replace(thread, requests=requests)) if one.kind == "unused-tools"
    )
    assert piece.finding.startswith("2 of 3 tool definitions were never called: ")
    assert "in each of 12 requests, about $" in piece.finding
    assert piece.evidence.startswith("The largest: the server github (")
    assert "/mcp" in piece.action


def test_advice_when_a_read_file_is_changed_names_the_stale_copy() -> None:
    steps = [
        ("user", "go"),
        ("read", f"a.py {FILE}"),
        ("write", "a.py"),
        *[("read", f"b{n}.py x") for n in range(40)],
    ]
    (piece,) = (one for one in advise(said(*steps)) if one.kind == "stale-copies")
    assert piece.finding.startswith("1 stale copy of 1 file took ")
    assert (
        piece.evidence
        == "a.py was read in message 2 and changed in message 3; it was not read again."
    )
    again = said(*steps[:3], ("read", f"a.py {OTHER_FILE}"), *steps[3:])
    (piece,) = (one for one in advise(again) if one.kind == "stale-copies")
    assert piece.evidence.endswith("message 6 has the current text.")


def test_advice_when_a_file_is_read_three_times_counts_the_older_copies() -> None:
    steps = [
        ("user", "go"),
        *[("read", f"src/a.py {FILE}")] * 3,
        *[("read", f"b{n}.py x") for n in range(40)],
    ]
    (piece,) = (one for one in advise(said(*steps)) if one.kind == "duplicates")
    assert "were duplicates of files" in piece.finding
    assert piece.evidence.startswith("The largest is a.py (3 times, ")


def test_advice_when_the_client_compacts_before_its_own_rule_names_the_setting() -> None:
    thread = paused(1, 1)
    summary = Message("summary", "user", (Text("what was done"),), summary=True)
    compaction = Compaction(2, "auto", summary=summary, tokens_before=60_000)
    pieces = advise(replace(thread, compactions=(compaction,)))
    (piece,) = (one for one in pieces if one.kind == "early-compaction")
    assert piece.finding.startswith("Claude Code compacted at 60,000 tokens (30.0%), ")
    assert "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE" in piece.action


def test_advice_when_the_window_is_nearly_full_names_the_first_request() -> None:
    (piece,) = (
        one for one in advise(paused(1, 1, 1), window=53_000) if one.kind == "late-compaction"
    )
    assert piece.finding.startswith(
        "3 requests filled more than 95% of the window, up to 53,002 of 53,000 tokens."
    )
    assert piece.request == 1


def test_advice_when_another_client_wrote_the_session_has_no_setting_of_claude_code() -> None:
    (piece,) = advise(paused(1, 10, 1, 20, 30), client="other")
    assert "promptCacheTtl" not in piece.action


def test_advice_when_nothing_can_be_gained_is_empty_and_never_more_than_three() -> None:
    assert advise(said(("user", "go"), ("answer", "done"))) == ()
    assert MOST_ADVICE == 3


def test_file_copies_when_an_edit_fails_stay_current() -> None:
    messages = (
        Message("a0", "assistant", (ToolCall("r", "Read", {"file_path": "./a.py"}),)),
        Message("t0", "tool", (ToolResult("r", "text"),)),
        Message("a1", "assistant", (ToolCall("e", "Edit", {"file_path": "a.py"}),)),
        Message("t1", "tool", (ToolResult("e", "not unique", is_error=True),)),
        Message("a2", "assistant", (ToolCall("s", "Grep", {"path": "a.py", "pattern": "x"}),)),
        Message("t2", "tool", (ToolResult("s", "text"),)),
    )
    stretch = Stretch(None, messages)
    thread = Thread("main", end=stretch.view(), messages=stretch.own)
    (copy,) = find_file_copies(messages, tool_calls(Session("made", (thread,)), thread))
    assert (copy.path, copy.message, copy.is_stale) == ("a.py", 1, False)


def test_amount_of_an_unpriced_model_is_told_in_tokens() -> None:
    steps = [
        ("user", "go"),
        ("read", f"a.py {FILE}"),
        ("write", "a.py"),
        *[("read", f"b{n}.py x") for n in range(40)],
    ]
    thread = said(*steps)
    requests = [replace(request, model="unheard-of") for request in thread.requests]
    (piece,) = (
        one for one in advise(replace(thread, requests=requests)) if one.kind == "stale-copies"
    )
    assert piece.usd is None
    assert "$" not in piece.finding
    assert piece.tokens > Decimal(2_000)
