"""Exchanges of a recording: in figures, whole, and as an HTTP archive that others can open, without a key in it."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import anthropic
import pytest

from inspector.cli.main import main
from inspector.core.exchange import NOWHERE, ExchangePlace
from inspector.core.session import exchange_places
from inspector.proxy.relay.server import ProxyServer
from inspector.simulated.server import SimulatedServer
from inspector.transcripts.files import find_exchange, open_transcript, whole_exchanges
from tests.core.formats.recordings import CLAUDE, Recording

KEY = "sk-ant-api03-0123456789abcdefABCDEF"
_ENTRY: Mapping[str, Any] = {
    "startedDateTime": str,
    "time": float,
    "cache": dict,
    "timings": {"send": float, "wait": float, "receive": float, "blocked": float},
    "request": {
        "method": str,
        "url": str,
        "httpVersion": str,
        "cookies": list,
        "headers": list,
        "queryString": list,
        "headersSize": int,
        "bodySize": int,
    },
    "response": {
        "status": int,
        "statusText": str,
        "httpVersion": str,
        "cookies": list,
        "headers": list,
        "content": {"size": int, "mimeType": str},
        "redirectURL": str,
        "headersSize": int,
        "bodySize": int,
    },
}
"""What HAR 1.2 asks of an entry (http://www.softwareishard.com/blog/har-12-spec/)."""


def _complies(value: Any, wanted: Any, where: str = "entry") -> None:
    if isinstance(wanted, Mapping):
        for name, inner in wanted.items():
            assert name in value, f"{where}.{name} is missing"
            _complies(value[name], inner, f"{where}.{name}")
    else:
        kinds = (int, float) if wanted is float else wanted
        assert isinstance(value, kinds), where


def archive(path: Path) -> list[dict[str, Any]]:
    """The entries of a HAR 1.2 that is valid."""
    log = json.loads(path.read_text(encoding="utf-8"))["log"]
    assert log["version"] == "1.2"
    assert log["creator"]["name"]
    assert log["creator"]["version"]
    for one in log["entries"]:
        _complies(one, _ENTRY)
        assert datetime.fromisoformat(one["startedDateTime"]).tzinfo is not None
        assert one["time"] == pytest.approx(
            sum(value for value in one["timings"].values() if value > 0)
        )
        for pair in (
            *one["request"]["headers"],
            *one["response"]["headers"],
            *one["request"]["queryString"],
        ):
            assert set(pair) == {"name", "value"}
        if "postData" in one["request"]:
            assert isinstance(one["request"]["postData"]["mimeType"], str)
    return list(log["entries"])


def test_of_a_real_client(
    simulated: SimulatedServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Heads, bodies and times as they passed; the client's key nowhere; not over a file that is there."""
    record, har = tmp_path / "r.jsonl", tmp_path / "r.har"
    told: list[Any] = [{"role": "user", "content": f"{KEY} is what I should not have typed"}]
    with (
        ProxyServer(simulated.url, record) as proxy,
        anthropic.Anthropic(api_key=KEY, base_url=proxy.url, max_retries=0) as client,
    ):
        for turn in range(3):
            answer = client.messages.create(model="claude-simulated", max_tokens=200, messages=told)
            text = answer.content[0].text  # type: ignore[union-attr]
            told += [
                {"role": "assistant", "content": text},
                {"role": "user", "content": f"and {turn} more"},
            ]
    assert main(["info", str(record), "--har", str(har)]) == 0
    assert main(["info", str(record), "--har", str(har)]) == 1
    assert "--force" in capsys.readouterr().err
    assert main(["info", str(record), "--har", str(har), "--force", "--json"]) == 0
    entries = archive(har)
    session = open_transcript(record)
    assert KEY not in har.read_text(encoding="utf-8")
    assert len(entries) == len(session.exchanges) == 3
    for n, (entry, one) in enumerate(zip(entries, session.exchanges, strict=True)):
        assert entry["request"]["url"] == f"{simulated.url}/v1/messages"
        assert len(json.loads(entry["request"]["postData"]["text"])["messages"]) == 2 * n + 1
        assert "(redacted)" in [pair["value"] for pair in entry["request"]["headers"]]
        assert entry["response"]["status"] == one.status == 200
        assert entry["response"]["content"]["mimeType"] == "application/json"
        assert entry["request"]["bodySize"] == one.up
        assert entry["response"]["bodySize"] == one.down
        assert entry["timings"]["wait"] == one.first_byte_ms
        assert entry["time"] == pytest.approx(one.elapsed_ms)
        assert exchange_places(session)[one.line] == ExchangePlace("main", n)
        assert one.cached is not None


def test_whole_bodies_held_changed_and_failed(tmp_path: Path) -> None:
    recording = Recording()
    first: dict[str, Any] = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "one"}],
        "system": "be brief",
    }
    more = [{"role": "assistant", "content": "I did"}, {"role": "user", "content": "two 中文"}]
    recording.ask(first, headers=CLAUDE, size=90)
    recording.reply(
        0, {"error": {"type": "rate_limit_error", "message": "slower"}}, status=429, size=40
    )
    recording.ask({**first, "messages": first["messages"] + more}, headers=CLAUDE)
    recording.records.append(
        {"type": "held", "exchange": 1, "time": "2026-01-01T00:00:02Z", "why": "each"}
    )
    recording.records.append(
        {"type": "released", "exchange": 1, "time": "2026-01-01T00:00:43.5Z", "how": "changed"}
    )
    recording.send(1, {**first, "messages": more[1:]})
    answer = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "done"}]}
    usage = {"input_tokens": 100, "cache_read_input_tokens": 300, "output_tokens": 3}
    timed: dict[str, Any] = {
        "first_byte_ms": 12.5,
        "elapsed_ms": 40,
        "size": 70,
        "headers": [["content-type", "application/json"]],
    }
    recording.reply(1, {**answer, "usage": usage}, **timed)
    recording.ask({"model": "m", "messages": []}, "/v1/messages/count_tokens", CLAUDE)
    path = recording.save(tmp_path / "r.jsonl")
    session = open_transcript(path)
    refused, changed, waiting = session.exchanges
    assert (refused.status, refused.up, refused.down, refused.has_failed, refused.error) == (
        429,
        90,
        40,
        True,
        "slower",
    )
    assert (changed.held, changed.held_ms, changed.done, changed.has_failed) == (
        "each",
        41_500,
        "changed",
        False,
    )
    assert (changed.first_byte_ms, changed.elapsed_ms, changed.cached) == (12.5, 40, 0.75)
    assert (waiting.status, waiting.ended, waiting.has_failed, waiting.client) == (
        None,
        "",
        False,
        "claude-code",
    )
    places = exchange_places(session)
    kinds = [places.get(one.line, NOWHERE).kind for one in session.exchanges]
    assert kinds == ["refused", "", "token count"]
    found = find_exchange(path, changed.line)
    assert found is not None
    assert [message.text for message in found.messages(forwarded=False)] == [
        "one",
        "I did",
        "two 中文",
    ]
    assert [message.text for message in found.messages()] == ["two 中文"]
    assert [message.text for message in found.answer()] == ["done"]
    assert [one.number for one in whole_exchanges(path)] == [0, 1, 2]
    assert main(["info", str(path), "--har", str(tmp_path / "r.har")]) == 0
    entries = archive(tmp_path / "r.har")
    assert entries[1]["timings"] == {"blocked": 41_500, "send": 0, "wait": 12.5, "receive": 27.5}
    assert "I did" in entries[1]["request"]["postData"]["text"]
    assert "I did" not in entries[1]["_forwarded"]["text"]
    assert entries[2]["response"]["status"] == 0


def test_only_a_recording_has_exchanges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = tmp_path / "b.json"
    body.write_text(
        '{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}'
    )
    assert main(["info", str(body), "--har", str(tmp_path / "r.har")]) == 1
    assert "not a recording of the proxy" in capsys.readouterr().err
    assert not (tmp_path / "r.har").exists()
