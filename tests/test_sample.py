"""The bundled sample: the same bytes each time, and everything in it that it is there to show."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inspector.core.message import Image, Thinking
from inspector.core.session import Session
from inspector.core.tokens.estimators import ESTIMATORS, estimator
from inspector.core.tokens.fit import calibration_report
from inspector.core.tokens.windows import find_window
from inspector.core.validity import find_refusals
from inspector.resources import resource
from inspector.transcripts.files import open_transcript

ROOT = Path(__file__).resolve().parent.parent
WINDOW = 200_000


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in resource("sample.jsonl").read_text(encoding="utf-8").splitlines()
    ]


@pytest.fixture(scope="module")
def session() -> Session:
    return open_transcript(resource("sample.jsonl"))


def test_it_is_made_anew_to_the_same_bytes() -> None:
    code = (
        "import runpy, sys; sys.argv = ['make_sample.py'];"
        f"made = runpy.run_path({str(ROOT / 'packaging' / 'make_sample.py')!r});"
        "sys.stdout.buffer.write(made['sample']().encode())"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert made.stdout == resource("sample.jsonl").read_bytes()


def test_it_says_that_it_was_made(records: list[dict[str, Any]], session: Session) -> None:
    assert records[0]["customTitle"].startswith("Demonstration")
    assert "made for demonstration" in session.main.messages[0].text


def test_every_kind_of_record_is_there(records: list[dict[str, Any]]) -> None:
    kinds = Counter(record.get("subtype") or record["type"] for record in records)
    for kind in (
        *(
            "custom-title",
            "file-history-snapshot",
            "queue-operation",
            "user",
            "assistant",
            "progress",
            "attachment",
        ),
        *("compact_boundary", "api_error", "stop_hook_summary", "turn_duration"),
    ):
        assert kinds[kind], kind


def test_the_chain_holds(records: list[dict[str, Any]]) -> None:
    chained = [record for record in records if "uuid" in record]
    known = {record["uuid"] for record in chained}
    assert len(known) == len(chained)
    assert [r["parentUuid"] for r in chained if r["parentUuid"] not in known] == [None, None]


def test_one_block_a_line_and_the_same_prompt_on_every_line_of_a_message(
    records: list[dict[str, Any]],
) -> None:
    prompts: dict[str, set[int]] = {}
    for record in records:
        if record["type"] == "assistant":
            message, usage = record["message"], record["message"]["usage"]
            assert len(message["content"]) == 1
            names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            prompts.setdefault(message["id"], set()).add(sum(usage[name] for name in names))
    assert all(len(sizes) == 1 for sizes in prompts.values())


def test_it_reads_without_a_problem(session: Session) -> None:
    assert not session.problems
    assert not session.notes
    assert 120 <= len(session.main.requests) <= 200


def test_every_buffer_would_be_accepted(session: Session) -> None:
    for thread in session.threads:
        assert not [request.index for request in thread.requests if find_refusals(request.buffer())]


def test_it_crosses_both_watermarks_compacts_and_grows_past_the_first_again(
    session: Session,
) -> None:
    (compaction,) = session.main.compactions
    sizes = [request.usage.prompt for request in session.main.requests if request.usage]
    before, after = sizes[: compaction.before_request], sizes[compaction.before_request :]
    assert compaction.trigger == "auto"
    assert compaction.tokens_before is not None
    assert 0.75 * WINDOW < compaction.tokens_before < WINDOW
    assert before[0] < 0.6 * WINDOW < 0.75 * WINDOW < before[-1]
    assert after[0] < 0.3 * WINDOW < 0.6 * WINDOW < after[-1]
    assert find_window(session, session.main).tokens == WINDOW


def test_the_named_ingredients_are_there(session: Session) -> None:
    messages = session.main.messages
    parts = [part for message in messages for part in message.parts]
    assert any(isinstance(part, Image) and part.data for part in parts)
    assert any(isinstance(part, Thinking) and part.text for part in parts)
    assert any(message.result and message.result.is_error for message in messages)
    assert any(len(message.calls) > 2 for message in messages)
    assert sum("一" <= char <= "鿿" for message in messages for char in message.text) > 1_000
    assert any(message.role == "user" and "align amounts" in message.text for message in messages)


def test_the_sub_agent_is_a_thread_of_its_own(session: Session) -> None:
    _, agent = session.threads
    calls = {call.id: call.name for message in session.main.messages for call in message.calls}
    assert calls[agent.parent_call] == "Task"
    assert agent.parent == "main"
    assert len(agent.requests) > 5


def test_estimators_fit_it_well(session: Session) -> None:
    fits = calibration_report(session.main, [estimator(name) for name in ESTIMATORS])
    assert max(one.r2 for one in fits if one.r2 is not None) >= 0.99


def test_nothing_of_a_machine_is_in_it() -> None:
    text = resource("sample.jsonl").read_text(encoding="utf-8")
    for word in ("/root", "/work", "pytest-of-root", "site-packages", "localhost"):
        assert word not in text, word
