"""Traces as a table, and the sessions of several traces."""

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inspector.core.message import part_text
from inspector.transcripts.files import open_transcript
from tests.core.formats.traces_written import ANSWERS, CALLS, SAID, TOKENS, observation, turn


@pytest.mark.parametrize("columns", ["usage_details", "tokens"])
def test_a_table_is_the_same_conversation(columns: str, tmp_path: Path) -> None:
    """Langfuse's, with commas, quotes and line ends in its cells."""
    path = tmp_path / "observations.csv"
    rows = []
    for n in CALLS:
        row = {**observation(n), "name": 'a "small", call\nof two lines'}
        if columns == "tokens":
            prompt, output = TOKENS[n]
            row = {camel(key): told for key, told in row.items() if key != "usage_details"}
            row |= {
                "promptTokens": prompt,
                "completionTokens": output,
                "totalTokens": prompt + output,
            }
        rows.append(row)
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(reversed(rows))
    session = open_transcript(path)
    assert session.format == "langfuse"
    assert [request.view.length for request in session.main.requests] == list(ANSWERS)
    assert [
        (one.usage.prompt, one.usage.output) for one in session.main.requests if one.usage
    ] == list(TOKENS)
    assert ["|".join(map(part_text, message.parts)) for message in session.main.end] == SAID
    assert all(request.time for request in session.main.requests)


def camel(key: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), key)


def test_a_list_of_traces_has_their_sessions(tmp_path: Path) -> None:
    """The same words at the same times, in two sessions and in one."""
    path = tmp_path / "traces.json"

    def trace(name: str, session: str, calls: Sequence[int]) -> dict[str, Any]:
        rows = [{**observation(n), "id": f"{name}{n}", "trace_id": name} for n in calls]
        return {"id": name, "sessionId": session, "observations": rows}

    path.write_text(json.dumps([trace("a", "one", CALLS), trace("b", "two", CALLS)]))
    assert [len(thread.requests) for thread in open_transcript(path).threads] == [4, 4]
    path.write_text(json.dumps([trace("a", "one", CALLS[:2]), trace("b", "one", CALLS[2:])]))
    assert [len(thread.requests) for thread in open_transcript(path).threads] == [4]


def test_turns_that_begin_anew_stay_apart(tmp_path: Path) -> None:
    """The same words once more, in a trace of their own, are another conversation."""
    path = tmp_path / "trace.jsonl"
    values = [turn(n, name) for name in ("ab", "cd") for n in CALLS[:2]]
    for n, one in enumerate(values):
        span = one["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
        span["spanId"] = f"{n:016x}"
    path.write_text("\n".join(map(json.dumps, values)))
    assert [len(thread.requests) for thread in open_transcript(path).threads] == [2, 2]
