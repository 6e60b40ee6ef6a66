"""Real traffic of real clients, captured by another tool, told as our proxy would have recorded it."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.core.drops import session_drops
from inspector.core.session import Session
from tests.core.formats.recordings import Recording
from tests.shared import transcripts

TRACES = {path.stem: path for path in transcripts("api-trace/*/agents/lab/*.json")}
if not TRACES:
    pytest.skip("measured on real traffic, which is not on this machine", allow_module_level=True)


def session(name: str, like: bool = True) -> Session:
    """The capture as a recording, read."""
    recording = Recording(like)
    for packet in json.loads(Path(TRACES[name]).read_text(encoding="utf-8"))["packets"]:
        asked, answered = packet["request"], packet["response"]
        socket = packet["method"] == "WEBSOCKET"
        headers: dict[str, Any] = {
            key: value for key, value in (asked.get("headers") or {}).items() if str(value)
        }
        number = recording.ask(
            asked.get("body") or None,
            packet["path"],
            headers,
            method="POST" if socket else packet["method"],
            transport="websocket" if socket else "http",
        )
        recording.reply(number, answered.get("body"), status=packet["http_status"])
    return recording.session()


@pytest.mark.parametrize("name", sorted(TRACES))
def test_however_it_is_told_it_is_the_same(name: str) -> None:
    told, whole = session(name), session(name, like=False)
    assert not told.problems
    for one, other in zip(told.threads, whole.threads, strict=True):
        assert [[m.id for m in r.view] for r in one.requests] == [
            [m.id for m in r.view] for r in other.requests
        ]
        assert [r.usage for r in one.requests] == [r.usage for r in other.requests]
    assert [call.kind for call in told.side_calls] == [call.kind for call in whole.side_calls]


def test_claude_code_with_its_title_counts_and_compaction() -> None:
    found = session("trace_compact_claude")
    (main,) = found.threads
    kinds = [call.kind for call in found.side_calls]
    assert (kinds.count("title"), kinds.count("compaction"), kinds.count("token count")) == (
        1,
        3,
        6,
    )
    assert len(main.requests) == 6
    assert [(one.before_request, one.kind) for one in main.compactions] == [
        (n, "summary") for n in (3, 4, 5)
    ]
    assert all(request.usage and request.usage.prompt > 30_000 for request in main.requests)


def test_codex_over_a_websocket_with_remote_compactions() -> None:
    found = session("trace_compact_codex")
    main = found.main
    assert [compaction.trigger for compaction in main.compactions] == ["auto"] * 3
    assert [call.made for call in found.side_calls if call.kind == "compaction"] == [0, 1, 2]
    assert [drop.compaction for drop in session_drops(found)] == [0, 1, 2]


def test_codex_goes_on_from_its_prewarm() -> None:
    found = session("trace_codex")
    (main,) = found.threads
    lengths = [request.view.length for request in main.requests]
    assert lengths == sorted(lengths)
    assert [call.kind for call in found.side_calls] == ["models", "prewarm", "models"]
    assert not session_drops(found)
