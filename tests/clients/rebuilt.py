"""What the provider was given and what it said to that, by its own log; and the recording that should tell the same."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspector.core.dialects.catalogue import endpoint
from inspector.core.session import Request, Session
from inspector.transcripts.files import open_transcript
from tests.clients.bodies import Told, of_body
from tests.clients.masking import body_of
from tests.clients.playing import Played, Wire

_KEYS = ("messages", "input", "contents")


@dataclass(frozen=True, slots=True)
class Sent:
    """A call of a model as the provider saw it."""

    sha256: str
    told: Told
    prompt: int | None
    output: int | None
    """Tokens, as it counted them; None where it refused or broke off."""


def sent(wire: Sequence[Wire]) -> list[Sent]:
    """All calls of a model, whole: what a call goes on from stands before what it brings."""
    ends: dict[str, list[Any]] = {}
    found = []
    for one in wire:
        body = _json(body_of(one)) if one.method in ("POST", "WS") else None
        if (
            body is None
            or not any(isinstance(body.get(key), list) for key in _KEYS)
            or "count" in one.path
        ):
            continue
        events = list(_events(one.sent))
        prompt, output = _usage(events)
        found.append(
            Sent(one.received_sha256, of_body(chained(body, events, ends)), prompt, output)
        )
    return found


def chained(
    body: Mapping[str, Any], events: Sequence[Any], ends: dict[str, list[Any]]
) -> Mapping[str, Any]:
    """A body of Responses with what its `previous_response_id` stands for; `ends` learns where its answer leads to."""
    if not isinstance(body.get("input"), list):
        return body
    whole = [*ends.get(str(body.get("previous_response_id")), ()), *body["input"]]
    for event in events:
        if isinstance(event, Mapping) and event.get("type") == "response.completed":
            ends[event["response"]["id"]] = [*whole, *event["response"]["output"]]
    return {**body, "input": whole}


def _events(data: bytes) -> Iterator[Any]:
    """Events of a stream, frames of a WebSocket, or one body."""
    text = data.decode("utf-8", "replace")
    whole = _json(text)
    if whole is not None:
        yield whole
        return
    for line in text.splitlines():
        event = _json(line.removeprefix("data:").strip())
        if event is not None:
            yield event


def _json(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _usage(events: Sequence[Mapping[str, Any]]) -> tuple[int | None, int | None]:
    """The last that is said of each, in whichever dialect."""
    prompt: int | None = None
    output: int | None = None
    for event in events:
        usage = event.get("usage") or event.get("usageMetadata")
        for inner in ("message", "response"):
            usage = usage or (event.get(inner) or {}).get("usage")
        if not usage:
            continue
        if "cache_read_input_tokens" in usage:
            parts = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            prompt = sum(usage.get(part) or 0 for part in parts)
        else:
            named = ("input_tokens", "prompt_tokens", "promptTokenCount")
            prompt = next((usage[name] for name in named if usage.get(name)), prompt)
        named = ("output_tokens", "completion_tokens", "candidatesTokenCount")
        output = next((usage[name] for name in named if name in usage), output)
    return prompt, output


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recording of a play, read, and what its provider saw of each of its requests."""

    session: Session
    lines: Sequence[Mapping[str, Any]]
    sent: Sequence[Sent]

    @property
    def dialect(self) -> str:
        """Of its first call of a model."""
        paths = (str(line.get("path", "")) for line in self.lines if line["type"] == "request")
        return next(
            found.dialect.name
            for path in paths
            if (found := endpoint("POST", path)).dialect is not None
        )

    def provider_saw(self, request: Request) -> Sent:
        """By the sum of what was forwarded; of equal ones (asked again) the one that came as the same of them."""
        sums = {
            one["exchange"]: one["sha256"]
            for one in self.lines
            if one["type"] in ("request", "sent")
        }
        number = self.lines[request.line - 1]["exchange"]
        same = sorted(other for other, told in sums.items() if told == sums[number])
        return [one for one in self.sent if one.sha256 == sums[number]][same.index(number)]

    def asked(self) -> dict[int, Told]:
        """What the client sent, by exchange: put together by the recording's own words (`like`), not by our reader."""
        bodies: dict[int, Mapping[str, Any]] = {}
        wholes: dict[int, Told] = {}
        ends: dict[str, list[Any]] = {}
        answers = {one["exchange"]: one for one in self.lines if one["type"] == "response"}
        for line in self.lines:
            if line["type"] != "request" or not isinstance(line.get("body"), dict):
                continue
            body = bodies[line["exchange"]] = _like(line, bodies)
            if any(isinstance(body.get(key), list) for key in _KEYS):
                answer = answers.get(line["exchange"], {})
                events = answer.get("frames") or list(_events(answer.get("stream", "").encode()))
                wholes[line["exchange"]] = of_body(chained(body, events, ends))
        return wholes


def _like(line: Mapping[str, Any], bodies: Mapping[int, Mapping[str, Any]]) -> Mapping[str, Any]:
    own = dict(line["body"])
    if (like := line.get("like")) is None:
        return own
    known = bodies[like["exchange"]]
    for key, count in like.get("first", {}).items():
        own[key] = [*known[key][:count], *own.get(key, [])]
    return {**{key: known[key] for key in like.get("all", ())}, **own}


def recorded(played: Played) -> Recorded:
    """The recording, read by the program."""
    lines = [json.loads(line) for line in played.recording.read_text(encoding="utf-8").splitlines()]
    return Recorded(open_transcript(played.recording), lines, sent(played.wire))


def own_transcripts(played: Played, pattern: str) -> list[Path]:
    """What the client itself wrote, the oldest first."""
    return sorted((played.folder / "home").glob(pattern), key=lambda path: path.stat().st_mtime)
