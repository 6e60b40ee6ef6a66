"""The recording: complete, without keys, never in the way, readable whatever happens."""

import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps, loads
from inspector.proxy.record.lines import BodyDeltas, RecordedBody, shape_of
from inspector.proxy.record.redact import redacted_headers, redacted_path, redacted_url
from inspector.proxy.relay.server import ProxyServer
from inspector.safety.redact_text import REDACTED
from tests.proxy.raw import (
    answer,
    client,
    echo,
    eventually,
    kinds,
    lines,
    post,
    provider,
    proxied,
    read_lines,
)

OK = answer(
    b'{"ok":true}',
    "Content-Type: application/json",
    "request-id: req_1",
    "Set-Cookie: a=secret-cookie",
)
SECRET = "sk-ant-very-secret"


@pytest.fixture(autouse=True)
def warm_writers() -> None:
    """None: here writers are started as the program starts them."""


def _whole(records: list[dict[str, Any]], number: int) -> Any:
    """The body of a request, with what it shares with earlier ones put back."""
    (line,) = (one for one in records if one["type"] == "request" and one["exchange"] == number)
    body = dict(line["body"])
    if like := line.get("like"):
        before = _whole(records, like["exchange"])
        body |= {key: before[key] for key in like["all"]}
        body |= {
            key: before[key][:count] + body.get(key, []) for key, count in like["first"].items()
        }
    return body


def test_the_first_line_says_what_it_is(tmp_path: Path) -> None:
    with proxied(echo([], OK), tmp_path) as (proxy, upstream):
        first = lines(proxy)[0]
        assert (first["type"], first["version"], first["upstream"]) == ("proxy", 1, upstream.url)
        assert first["program"].startswith("context-inspector ")
        assert stat.S_IMODE((tmp_path / "record.jsonl").stat().st_mode) == 0o600


def test_keys_are_never_written(tmp_path: Path) -> None:
    """Whatever their header is called; the names stay, the ids that tell answers apart stay."""
    named = (
        "Authorization",
        "x-api-key",
        "Api-Key",
        "x-goog-api-key",
        "Cookie",
        "X-My-Own",
        "Proxy-Authorization",
    )
    told = [
        f"{name}: Bearer {SECRET}"
        for name in (*named, "x-codex-auth", "x-stainless-api-key", "Sec-WebSocket-Protocol")
    ]
    with proxied(echo([], OK), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(
            post(
                f"/v1beta/models/g:generateContent?key={SECRET}&alt=sse&access_token={SECRET}",
                b"{}",
                *told,
            )
        )
        wire.message()
        response = kinds(proxy, "response")[0]
        request = kinds(proxy, "request")[0]
        data = (tmp_path / "record.jsonl").read_text()
    assert SECRET not in data
    assert "secret-cookie" not in data
    assert (
        request["path"]
        == f"/v1beta/models/g:generateContent?key={REDACTED}&alt=sse&access_token={REDACTED}"
    )
    assert [name for name, value in request["headers"] if value == REDACTED] == [
        one.split(":")[0] for one in told
    ]
    assert ["request-id", "req_1"] in response["headers"]
    assert ["Set-Cookie", REDACTED] in response["headers"]


def test_a_key_that_a_body_says_again_is_taken_out(tmp_path: Path) -> None:
    """An error that quotes it, a server that echoes; words that a client without a key sends in its place stay."""
    quoted = answer(
        f'{{"error":"no such key: {SECRET}","by":"simulated"}}'.encode(),
        "Content-Type: application/json",
    )
    told = (f"x-api-key: {SECRET}", "Authorization: Bearer simulated")
    with proxied(echo([], quoted), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/messages", b'{"model":"m","messages":[]}', *told))
        assert SECRET.encode() in wire.message()[1]
        response = kinds(proxy, "response")[0]
        assert SECRET not in (tmp_path / "record.jsonl").read_text()
    assert response["body"] == {"error": f"no such key: {REDACTED}", "by": "simulated"}


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("anthropic-ratelimit-input-tokens-remaining", True),
        ("x-ratelimit-remaining-tokens", True),
        ("X-Claude-Code-Session-Id", True),
        ("x-codex-turn-metadata", True),
        ("openai-processing-ms", True),
        ("CF-Ray", True),
        ("retry-after", True),
        ("x-codex-access-token", False),
        ("anthropic-ratelimit-secret", False),
        ("x-amz-security-token", False),
        ("openai-organization", False),
        ("", False),
    ],
)
def test_which_headers_keep_their_value(name: str, kept: bool) -> None:
    assert redacted_headers([(name, "v")]) == ((name, "v" if kept else REDACTED),)


def test_paths_and_urls_keep_their_spelling() -> None:
    assert redacted_path("/a%2Fb?beta=true&&y=&key=1=2") == f"/a%2Fb?beta=true&&y=&key={REDACTED}"
    assert redacted_path("/a?beta&limit=5") == "/a?beta&limit=5"
    # A name that is not on the list may be the key itself.
    assert redacted_path("/a?sk-1234") == f"/a?{REDACTED}"
    # As a careless client joins them.
    for value in ("sse;key=sk-1", "sse?key=sk-1", "sse%26key=sk-1", "sse#sk-1"):
        assert redacted_path(f"/a?alt={value}") == f"/a?alt={REDACTED}"
    assert redacted_path("/a") == "/a"
    assert redacted_url("https://me:pw@host:1/p?key=1#x") == "https://host:1/p"


def test_a_session_costs_what_it_adds(tmp_path: Path) -> None:
    """100 requests, each with the whole history: on disk every message stands once."""
    history: list[dict[str, Any]] = []
    sent: list[Any] = []
    with proxied(echo([], OK), tmp_path) as (proxy, _), client(proxy) as wire:
        for n in range(100):
            history.append({"role": "user", "content": f"{n} " + "words " * 200})
            body = {
                "model": "m",
                "system": "s" * 3_000,
                "tools": [{"name": "t" * 2_000}],
                "messages": list(history),
            }
            if n == 50:
                body["messages"] = history = history[:10]
            sent.append(json.loads(json.dumps(body)))
            wire.send(post("/v1/messages", dumps(body).encode()))
            wire.message()
        kinds(proxy, "response", 100)
        records = lines(proxy)
    assert [_whole(records, n) for n in range(100)] == sent
    assert (tmp_path / "record.jsonl").stat().st_size < 100 * (1_200 + 1_500) + 10_000


_VALUES = st.recursive(
    st.none() | st.integers(-5, 5) | st.text(max_size=3), lambda one: st.lists(one, max_size=3)
)
_BODIES = st.dictionaries(
    st.sampled_from(["messages", "tools", "system", "model"]),
    st.lists(_VALUES.map(lambda value: [value, "x" * 90]), max_size=8) | _VALUES,
)


@given(st.lists(_BODIES, min_size=1, max_size=12))
def test_what_is_like_another_can_be_put_together_again(bodies: list[dict[str, Any]]) -> None:
    likeness, records = BodyDeltas(), []
    for n, body in enumerate(bodies):
        shape = shape_of(body)
        like = likeness.find(shape)
        likeness.remember(RecordedBody(n, shape, like))
        line = {"type": "request", "exchange": n, "body": like.rest(body) if like else body}
        records.append(line | ({"like": like.document()} if like else {}))
        assert _whole(records, n) == body


def test_a_recording_is_continued(tmp_path: Path) -> None:
    """Another `proxy` line, exchanges numbered on, a torn line closed off; readable by its owner only from now on."""
    path = tmp_path / "record.jsonl"
    for _ in range(2):
        with proxied(echo([], OK), tmp_path) as (proxy, _up), client(proxy) as wire:
            wire.send(post("/v1/x", b"{}"))
            wire.message()
        path.chmod(0o644)
        with path.open("ab") as file:
            file.write(b'{"type":"request","exchange":7,"torn')
    found = path.read_bytes().splitlines()
    records = [loads(line) for line in found if not line.endswith(b"torn")]
    assert [line["type"] for line in records].count("proxy") == 2
    assert [line["exchange"] for line in records if line["type"] == "request"] == [0, 8]
    with proxied(echo([], OK), tmp_path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["something of mine\n", '{"type":"journal"}\n', "[1]\n", "\n"])
def test_another_file_is_never_written_to(tmp_path: Path, content: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(content)
    with pytest.raises(InspectorError, match="not a recording"):
        ProxyServer("http://127.0.0.1:1", path)
    assert path.read_text() == content


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null"), tmp_path / "no" / "folder"):
        with pytest.raises(InspectorError):
            ProxyServer("http://127.0.0.1:1", path)


def test_two_proxies_do_not_share_a_file(tmp_path: Path) -> None:
    with proxied(echo([], OK), tmp_path), pytest.raises(InspectorError, match="Another proxy"):
        ProxyServer("http://127.0.0.1:1", tmp_path / "record.jsonl")


def test_a_removed_file_begins_anew(tmp_path: Path) -> None:
    told: list[str] = []
    with provider(echo([], OK)) as upstream:
        proxy = ProxyServer(upstream.url, tmp_path / "r.jsonl", tell=told.append)
        with proxy, client(proxy) as wire:
            for _ in range(2):
                wire.send(post("/v1/x", b'{"a":"' + b"x" * 500 + b'"}'))
                wire.message()
                kinds(proxy, "response")
                (tmp_path / "r.jsonl").unlink()
            wire.send(post("/v1/x", b'{"a":"' + b"x" * 500 + b'"}'))
            wire.message()
            kinds(proxy, "response")
    records = read_lines(tmp_path / "r.jsonl")
    assert [line["type"] for line in records] == ["proxy", "note", "request", "response"]
    assert "like" not in records[2]
    assert len(told) == 2


def test_a_file_that_is_replaced_is_not_written_to(tmp_path: Path) -> None:
    told: list[str] = []
    path = tmp_path / "r.jsonl"
    with (
        provider(echo([], OK)) as upstream,
        ProxyServer(upstream.url, path, tell=told.append) as proxy,
    ):
        proxy.recorder.settle()
        path.unlink()
        path.write_text("another's")
        with client(proxy) as wire:
            for _ in range(3):
                wire.send(post("/v1/x", b"{}"))
                assert wire.message()[1] == b'{"ok":true}'
    assert path.read_text() == "another's"
    assert len(told) == 1


def test_a_writer_that_is_killed_does_not_stop_what_passes(tmp_path: Path) -> None:
    told: list[str] = []
    with provider(echo([], OK)) as upstream:
        proxy = ProxyServer(upstream.url, tmp_path / "r.jsonl", tell=told.append)
        with proxy, client(proxy) as wire:
            proxy.recorder.settle()
            proxy.recorder._writer.kill()
            eventually(lambda: told)
            for _ in range(20):
                wire.send(post("/v1/x", b"x" * 100_000))
                assert wire.message()[1] == b'{"ok":true}'
    assert len(told) == 1


def _program(*words: str, limit: int | None = None) -> "subprocess.Popen[str]":
    def bounded() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "inspector", "proxy", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=bounded)


def _port(process: "subprocess.Popen[str]") -> int:
    assert process.stdout
    line = process.stdout.readline()
    assert line.startswith("listening on http://127.0.0.1:")
    return int(line.rsplit(":", 1)[1])


def _ask(port: int, body: bytes, count: int) -> None:
    from tests.proxy.raw import Wire

    with socket.create_connection(("127.0.0.1", port)) as connection:
        wire = Wire(connection)
        for _ in range(count):
            wire.send(post("/v1/messages", body))
            assert wire.message()[1] == b'{"ok":true}'


def test_a_full_disk_does_not_stop_what_passes(tmp_path: Path) -> None:
    """The file may not grow beyond 20 KB: that is told once, and everything is forwarded."""
    path = tmp_path / "r.jsonl"
    with provider(echo([], OK)) as upstream:
        process = _program("--upstream", upstream.url, "--record", str(path), limit=20_000)
        try:
            port = _port(process)
            for n in range(20):
                _ask(port, b"%d" % n * 3_000, 1)
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors.count("cannot be written") == 1
    assert path.stat().st_size <= 20_000
    assert path.read_bytes().endswith(b"\n")
    assert len(read_lines(path)) == path.read_bytes().count(b"\n")


def test_a_killed_proxy_leaves_a_readable_recording(tmp_path: Path) -> None:
    """All that had passed is in it: the writer ends after the proxy."""
    path = tmp_path / "r.jsonl"
    with provider(echo([], OK)) as upstream:
        process = _program("--upstream", upstream.url, "--record", str(path))
        port = _port(process)
        _ask(port, b'{"model":"m","messages":[]}', 50)
        asking = threading.Thread(target=_until_it_ends, args=(port,))
        asking.start()
        time.sleep(0.2)
        process.kill()
        process.communicate()
        asking.join(20)
    eventually(lambda: _is_free(path))
    assert path.read_bytes().endswith(b"\n")
    records = read_lines(path)
    assert sum(line["type"] == "response" for line in records) >= 50
    assert [line["exchange"] for line in records if line["type"] == "request"][:50] == list(
        range(50)
    )


def _until_it_ends(port: int) -> None:
    try:
        _ask(port, b'{"model":"m","messages":[]}', 100_000)
    except (OSError, AssertionError):
        return


def _is_free(path: Path) -> bool:
    try:
        ProxyServer("http://127.0.0.1:1", path).close()
    except InspectorError:
        return False
    return True


def test_the_command_ends_well(tmp_path: Path) -> None:
    """And says each exchange, as JSON."""
    with provider(echo([], OK)) as upstream:
        process = _program(
            "--upstream", upstream.url, "--record", str(tmp_path / "r.jsonl"), "--json"
        )
        _ask(_port(process), b'{"model":"m","messages":[{"role":"user","content":"hi"}]}', 2)
        assert process.stdout
        told = [loads(process.stdout.readline().encode()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest) == (0, "")
    assert "stopped" in errors
    assert [(one["exchange"], one["status"], one["path"]) for one in told] == [
        (0, 200, "/v1/messages"),
        (1, 200, "/v1/messages"),
    ]
