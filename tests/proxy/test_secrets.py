"""What was taken out of a head is taken out of the recording wherever it stands, however it is spelled."""

import re
import time
from base64 import b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.jsontext import dumps, loads
from inspector.proxy.record.redact import redacted_path, redacted_url
from inspector.proxy.record.redactor import Redactor
from inspector.proxy.relay.server import ProxyServer
from inspector.safety.redact_text import REDACTED
from tests.proxy.raw import answer, client, echo, kinds, post, provider, proxied

NAMES = (
    "Authorization", "Ocp-Apim-Subscription-Key", "Helicone-Auth", "X-Auth", "x-litellm-key", "X-Amz-Signature",
    "x-portkey-virtual-key", "X-Something-Else", "api-key", "cf-aig-authorization", "Cookie", "X-Amz-Security-Token",
)  # fmt: skip
SECRET = "v1/Zm9v+b4r_9f8e7d6c/5b4a=="
OTHERS = ("topsecretvalue", "hunter2", "pass_Word", "p@ssword!", "sk-1234", "two words, 1 value")
SPELLED: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "percent": lambda text: quote(text, safe=""),
    "percent, small": lambda text: re.sub(
        "%..", lambda found: found[0].lower(), quote(text, safe="")
    ),
    "every byte": lambda text: "".join(f"%{one:02X}" for one in text.encode()),
    "every byte, small": lambda text: "".join(f"%{one:02x}" for one in text.encode()),
    "some bytes, mixed": lambda text: "".join(
        (one, f"%{ord(one):02x}", f"%{ord(one):02X}")[at % 3] for at, one in enumerate(text)
    ),
    "percent, twice": lambda text: quote(quote(text, safe=""), safe=""),
    "JSON, some signs": lambda text: (
        dumps(text)[1:-1].replace("/", "\\u002f").replace("=", "\\u003d")
    ),
    "JSON, every sign": lambda text: "".join(f"\\u{ord(one):04X}" for one in text),
    "HTML": lambda text: text.replace("/", "&#x2F;").replace("=", "&#61;").replace("+", "&plus;"),
    "HTML, every sign": lambda text: "".join(f"&#{ord(one)};" for one in text),
    "HTML in a URL": lambda text: quote(text.replace("/", "&#x2F;"), safe=""),
    "hexadecimal": lambda text: text.encode().hex(),
    "base64": lambda text: b64encode(text.encode()).decode(),
    "base64, url": lambda text: urlsafe_b64encode(text.encode()).decode(),
    "base64, behind one": lambda text: b64encode(b"u" + text.encode() + b"-").decode(),
    "base64, behind two": lambda text: b64encode(b"u:" + text.encode() + b"--").decode(),
}


def _whole(path: Path) -> str:
    return path.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_that_echoes_is_recorded_without_it(tmp_path: Path, name: str) -> None:
    """As JSON, as an event stream, as a text; every part of the key is gone, and the rest of the answer is not."""
    echoed = {how: f"<{spell(SECRET)}>" for how, spell in SPELLED.items()}
    value = {"Authorization": f"Bearer {SECRET}", "Cookie": f"a=b; session={SECRET}"}.get(
        name, SECRET
    )
    replies = [
        answer(dumps({"echo": echoed, "model": "m-1"}).encode(), "Content-Type: application/json"),
        answer(
            b"data: " + dumps(echoed).replace("/", "\\/").encode() + b"\n\n",
            "Content-Type: text/event-stream",
        ),
        answer("\n".join(echoed.values()).encode(), "Content-Type: text/plain"),
    ]
    with proxied(echo([], *replies), tmp_path) as (proxy, _), client(proxy) as wire:
        for _ in replies:
            wire.send(post("/v1/messages", b'{"model":"m-1","messages":[]}', f"{name}: {value}"))
            assert b"200 OK" in wire.message()[0]
        told = kinds(proxy, "response", 3)
        recorded = _whole(proxy.recorder.path)
    for part in (SECRET, "Zm9v+b4r_9f8e7d6c", *(spell(SECRET)[4:-4] for spell in SPELLED.values())):
        assert part not in recorded
    assert told[0]["body"]["model"] == "m-1"
    assert set(told[0]["body"]["echo"]) == set(echoed)
    assert told[0]["body"]["echo"]["as it is"] == f"<{REDACTED}>"
    assert "m-1" in recorded


def test_what_is_not_even_in_one_word_goes_with_all_around_it() -> None:
    secrets, key = Redactor(), 'a"quoted"key\'s=1'
    secrets.learn_head([("X-Auth", key)])
    for told in (
        dumps(key),
        dumps(dumps(key)),
        key.replace("=", "\\u003d"),
        key.replace("'", "&#39;"),
    ):
        assert loads(secrets.line({"a": [f"of {told} it"], "b": "c\nd"}).encode()) == {
            "a": [REDACTED],
            "b": "c\nd",
        }


def test_base64_that_goes_over_an_end_of_line() -> None:
    secrets = Redactor()
    secrets.learn_head([("x-api-key", SECRET)])
    for before in range(24, 60, 3):
        told = {
            "a": encodebytes(b"-" * before + SECRET.encode() + b"-" * 99).decode(),
            "b": "of\nwords",
        }
        for one in (told, {**told, "a": dumps(told["a"])}):
            assert REDACTED in loads(secrets.line(one).encode())["a"]
            assert loads(secrets.line(one).encode())["b"] == told["b"]


def test_more_cookies_than_are_kept_push_no_key_out() -> None:
    secrets = Redactor()
    cookies = "; ".join(f"name{n}=value-{n:06d}" for n in range(200))
    secrets.learn_head([("Authorization", f"Bearer {SECRET}"), ("Cookie", cookies)])
    told = loads(secrets.line({"a": SECRET, "b": "value-000000 value-000199"}).encode())
    assert told == {"a": REDACTED, "b": f"{REDACTED} {REDACTED}"}


@pytest.mark.parametrize("secret", OTHERS)
def test_keys_that_people_make_up_are_keys(secret: str) -> None:
    """Short ones, words, what holds blanks; all of it, and the longer one before the one that stands in it."""
    secrets = Redactor()
    secrets.learn_head([("X-Auth", secret), ("X-Auth", f"{secret}-and-more")])
    told = loads(secrets.line({"a": f"<{secret}>", "b": [f"({secret}-and-more)"]}).encode())
    assert told == {"a": f"<{REDACTED}>", "b": [f"({REDACTED})"]}


PATHS = [
    ("/gw/sk-abc12345/v1/messages", "/gw/(redacted)/v1/messages"),
    ("/v1/key/a1b2c3d4/messages", "/v1/key/(redacted)/messages"),
    ("/AIzaSyA-1234567890/v1beta/models/gemini-2.5-pro:generateContent", None),
    ("/t/9f8e7d6c5b4a39281706f5e4d3c2b1a0/v1/responses", "/t/(redacted)/v1/responses"),
    ("/t/aB3dE5gH7jK9mN1pQ3sT5/v1/responses", "/t/(redacted)/v1/responses"),
    ("/t/sk%2Dproj%2Dabc12345/v1/responses", "/t/(redacted)/v1/responses"),
    ("/v1/messages;key=abc123?beta=true", "/v1/messages;key=(redacted)?beta=true"),
]
OPEN = (
    "/v1/responses/resp_68af0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d",
    "/v1/messages/batches/msgbatch_01HkcTjaV5uDC8jWR4ZsDV8d/results",
    "/v1/messages/count_tokens",
    "/v1beta/models/gemini-2.5-Flash-preview-05-20:streamGenerateContent?alt=sse",
    "/model/us.anthropic.claude-sonnet-4-20250514-v1:0/invoke-with-response-stream",
    "/openai/deployments/MyGpt4oDeployment2024x/chat/completions?api-version=2024-06-01",
    "/backend-api/codex/responses",
    "/v1/sessions/3f0c1e9a-8a55-4c1e-9a55-3f0c1e9a8a55/events",
    "/v1/projects/my-project-123456/locations/us-central1/x",
)


@pytest.mark.parametrize(("path", "shown"), PATHS)
def test_a_key_in_the_path_is_taken_out(tmp_path: Path, path: str, shown: str | None) -> None:
    """There, and where the answer says it again."""
    reply = answer(
        dumps({"error": f"no such route: {path}"}).encode(), "Content-Type: application/json"
    )
    with proxied(echo([], reply), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post(path, b"{}"))
        wire.message()
        assert kinds(proxy, "request")[0]["path"] == (shown or redacted_path(path))
        assert kinds(proxy, "response")[0]["status"] == 200
        recorded = _whole(proxy.recorder.path)
    for key in ("abc12345", "a1b2c3d4", "AIza", "9f8e7d6c", "aB3dE5", "abc123"):
        assert key not in recorded


def test_a_key_before_a_fragment_is_known_by_itself(tmp_path: Path) -> None:
    """No client should send one; a server leaves it off before it echoes."""
    reply = answer(
        dumps({"echo": [SECRET, "Zm9v4b9f8e7d6c5b4a"]}).encode(), "Content-Type: application/json"
    )
    with proxied(echo([], reply), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(
            f"GET /key/Zm9v4b9f8e7d6c5b4a#a?access_token={SECRET}#b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
        )
        assert b"200 OK" in wire.message()[0]
        kinds(proxy, "response", 1)
        recorded = _whole(proxy.recorder.path)
    assert SECRET not in recorded
    assert "Zm9v4b9f8e7d6c5b4a" not in recorded


@pytest.mark.parametrize("path", OPEN)
def test_names_and_ids_in_a_path_stay(path: str) -> None:
    assert redacted_path(path) == path


def test_a_key_in_the_providers_own_path_is_taken_out(tmp_path: Path) -> None:
    """It stands in the address, and in what the proxy says where nobody answers."""
    reply = answer(b'{"at":"/gw/sk-abc12345/v1"}', "Content-Type: application/json")
    with (
        provider(echo([], reply)) as upstream,
        ProxyServer(f"{upstream.url}/gw/sk-abc12345", tmp_path / "r") as proxy,
    ):
        with client(proxy) as wire:
            wire.send(post("/v1/messages", b"{}"))
            wire.message()
        assert kinds(proxy, "response")[0]["body"] == {"at": f"/gw/{REDACTED}/v1"}
        recorded = _whole(proxy.recorder.path)
    assert "abc12345" not in recorded
    assert redacted_url("https://h/gw/sk-abc12345/v1") == f"https://h/gw/{REDACTED}/v1"


def test_words_and_addresses_that_a_header_says_stay() -> None:
    """What is no key stands in many texts."""
    secrets = Redactor()
    told = [
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Model", "claude-sonnet-4-5-20250929"),
        ("X-Auth", "simulated"),
        ("Authorization", "Bearer none"),
        ("Sec-Ch-Ua-Platform", "Linux x86_64 with words"),
        ("X-Portkey-Provider", "azure-openai"),
        ("x-api-key", "lm-studio"),
    ]
    secrets.learn_head(told, "/v1/messages?beta=true")
    secrets.learn_head(
        [("Set-Cookie", "a=b1234567; Max-Age=31536000"), ("X-Amzn-Requestid", "0123456789")],
        is_answer=True,
    )
    text = " ".join(value for _, value in told) + " 31536000 0123456789"
    assert loads(secrets.line({"text": text}).encode()) == {"text": text}
    assert loads(secrets.line({"text": "b1234567"}).encode()) == {"text": REDACTED}


@given(
    st.text(st.sampled_from('nu0123456789abc"\\/+ é'), max_size=12),
    st.text(st.sampled_from('\\nu"0123456789'), max_size=30),
)
def test_a_line_stays_a_line_of_json(key: str, text: str) -> None:
    """Also where what is found begins behind a backslash, or stands in a number."""
    secrets = Redactor()
    secrets.learn_head([("x-api-key", key), ("x-api-key", "n1234567")])
    document: dict[str, Any] = {
        "a": [f"{text}\n1234567", 1234567, f"n1234567{key}"],
        "n1234567": {"b": 91234567.5},
    }
    told = loads(secrets.line(document).encode())
    assert len(told["a"]) == 3
    assert "n1234567" not in dumps(told)


@pytest.mark.parametrize(
    "sign",
    [
        "a",
        "aA",
        "a/",
        "a=",
        "abc123,",
        "a=b; ",
        "%41",
        "%41=%42&",
        "\\",
        "&lt;",
        "\xff",
        "sk-",
        "- ",
    ],
)
def test_no_head_takes_long(sign: str) -> None:
    """A quarter of a megabyte of anything in it: the key, the path, and both said again."""
    long = sign * ((1 << 18) // len(sign))
    start, secrets = time.process_time(), Redactor()
    secrets.learn_head(
        [("Authorization", f"Bearer {long}"), ("x-key", long), ("x-b", SECRET)],
        f"/{long[: 1 << 16]}?b={long}",
    )
    secrets.line(
        {
            "path": redacted_path(f"/{long}?{long}"),
            "text": f"{long}%41{long}",
            "b": SECRET.replace("/", "%2F"),
        }
    )
    assert time.process_time() - start < 10


def test_looking_for_many_keys_takes_no_time() -> None:
    """A hundred keys came by; a line of a megabyte."""
    secrets = Redactor()
    for n in range(100):
        secrets.learn_head([("x-api-key", f"sk-{n:040d}"), ("x-trace", f"trace-{n:040d}")])
    line = {"text": "some words of a transcript, 1234 and sk-5678. " * 22_000}
    start = time.thread_time()
    secrets.line(line)
    assert time.thread_time() - start < 2
