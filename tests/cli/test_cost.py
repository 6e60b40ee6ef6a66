"""`cost`: an independent count of the same files, sums, and the same numbers as `info`."""

import json
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from genai_prices import Usage as Priced
from genai_prices import calc_price

from inspector.cli.cost import describe
from inspector.cli.main import main
from inspector.core.errors import InspectorError
from inspector.core.session import Session
from inspector.transcripts.files import open_transcript
from tests.shared import ARE_REAL, transcripts

SAMPLE = Path(__file__).parents[2] / "resources" / "sample.jsonl"
FILES = [path for path in transcripts("**/*") if path.is_file()]


def answers(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """(message, time) of the record and of those that it repeats inside."""
    if not isinstance(value, dict):
        return
    message = value.get("message")
    if (
        value.get("type") == "assistant"
        and isinstance(message, dict)
        and isinstance(message.get("usage"), dict)
    ):
        yield message, value.get("timestamp") or ""
    data = value.get("data")
    if isinstance(data, dict) and data.get("type") == "agent_progress":
        yield from answers(data.get("message"))
        for inner in data.get("normalizedMessages") or ():
            yield from answers(inner)


def counted(path: Path) -> Decimal | None:
    """What a Claude Code file cost: its raw records, each call once by its id, priced by the library alone."""
    calls: dict[str, tuple[dict[str, Any], str, str]] = {}
    for line in path.read_text("utf-8").splitlines():
        for message, time in answers(json.loads(line)):
            known = calls.get(message["id"])
            if known is None or message["usage"]["output_tokens"] >= known[0]["output_tokens"]:
                calls[message["id"]] = (
                    message["usage"],
                    message["model"],
                    known[2] if known else time,
                )
    total = Decimal(0)
    for usage, model, time in calls.values():
        read, written = (
            usage.get("cache_read_input_tokens", 0),
            usage.get("cache_creation_input_tokens", 0),
        )
        tokens = usage["input_tokens"] + read + written
        if tokens + usage["output_tokens"] == 0:
            continue
        priced = Priced(
            input_tokens=tokens,
            cache_read_tokens=read,
            cache_write_tokens=written,
            cache_write_1h_tokens=(usage.get("cache_creation") or {}).get(
                "ephemeral_1h_input_tokens", 0
            ),
            output_tokens=usage["output_tokens"],
        )
        when = datetime.fromisoformat(time) if time else None
        try:
            total += calc_price(priced, model, genai_request_timestamp=when).total_price
        except LookupError:
            return None
    return total


def opened(path: Path) -> Session | None:
    try:
        return open_transcript(path)
    except InspectorError:
        return None


@pytest.mark.skipif(not FILES, reason="no real transcripts on this machine")
def test_the_bill_is_that_of_an_independent_count() -> None:
    compared = 0
    for path in (
        *transcripts("claude-code/**/full.jsonl"),
        *transcripts("derived-merged/**/*.jsonl"),
        SAMPLE,
    ):
        session, expected = open_transcript(path), counted(path)
        found = describe(session)["total"]
        if expected is None or not expected:
            continue
        assert found == pytest.approx(float(expected), rel=0.005), path
        compared += 1
    assert compared > (3 if ARE_REAL else 1)


@pytest.mark.skipif(not FILES, reason="no real transcripts on this machine")
def test_most_breaks_have_a_cause() -> None:
    sessions = [session for path in FILES if (session := opened(path)) is not None]
    breaks = [one for session in sessions for one in describe(session)["breaks"]]
    assert len(breaks) > (20 if ARE_REAL else 2)
    assert sum(one["cause"] != "unknown" for one in breaks) >= (0.8 if ARE_REAL else 0.3) * len(
        breaks
    )


def test_the_command_prints_a_document_and_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(SAMPLE), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["currency"] == "USD"
    assert {one["cause"] for one in document["breaks"]} == {"expired", "compaction"}
    assert [one["name"] for one in document["what_if"]] == ["1h cache writes", "5m cache writes"]
    assert main(["cost", str(SAMPLE)]) == 0
    text = capsys.readouterr().out
    assert f"total  ${document['total']:,.2f} = " in text
    assert "3 cache misses re-sent " in text
    assert main(["cost", str(SAMPLE), "--thread", "main", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["thread"] == "main"
    assert main(["cost", str(SAMPLE), "--thread", "nobody"]) == 1


def test_replay_says_the_same_of_the_recorded_compactions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["replay", str(SAMPLE), "--policy", "none", "--json"]) == 0
    (recorded, _) = json.loads(capsys.readouterr().out)["policies"]
    (mine,) = describe(open_transcript(SAMPLE))["compactions"]
    (other,) = recorded["compactions"]
    names = [
        "before_request",
        "kind",
        "cost_usd",
        "saved_per_request_usd",
        "saved_usd",
        "paid_after_requests",
        "paid",
    ]
    assert [mine[name] for name in names] == [other[name] for name in names]
