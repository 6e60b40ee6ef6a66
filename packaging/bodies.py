"""Rebuilt buffers compared with the bodies that were really sent, piece by piece.

Two files tell of the same requests: the client's own transcript, from which the buffers are rebuilt, and a recording of
the wire. What the wire names otherwise without saying anything else is no difference: the ids by which calls and
results are paired, and where a dialect puts the system prompt.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any

from inspector.core.dialects.anthropic import same_wire_message
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.session import Request, Session
from inspector.transcripts.files import open_transcript
from tests.clients import claude_code, codex, gemini_cli, opencode, pi
from tests.clients.actor import ROOT
from tests.clients.playing import play, unshare, why_not
from tests.clients.scenarios import SCENARIOS

Piece = tuple[str, str, str]
"""Role, kind of part, what it says."""
_TELLS_ERRORS = frozenset({"anthropic"})
_TELLS_MESSAGES = frozenset({"anthropic", "gemini"})
"""Dialects in which several pieces can share one wire message."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One transcript beside the bodies of its requests."""

    client: str
    dialect: str
    requests: int
    """As the wire has them: those that were answered to the end."""
    missing: int
    """Requests of the wire that the transcript does not tell of, or not with what they were counted at."""
    identical: int
    why: Mapping[str, int]
    """How many pieces differ, by what they are."""


def beside(folder: Path) -> Iterator[Compared]:
    """Every recording below a folder, with each client's transcript in its own folder that tells of its requests."""
    for path in sorted(folder.rglob("*.jsonl")):
        if (recording := _opened(path)) is None or recording.format != "proxy":
            continue
        dialect = _dialect(path)
        for other in sorted(
            one for one in path.parent.rglob("*") if one.suffix in (".jsonl", ".json", ".db")
        ):
            transcript = (
                _opened(other) if other != path and "/subagents/" not in str(other) else None
            )
            if transcript is not None and transcript.format in CLIENTS and transcript.main.requests:
                found = compare(transcript, recording, dialect)
                if found.missing < found.requests:
                    yield found


CLIENTS = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "pi": "pi",
    "gemini-cli": "Gemini CLI",
    "opencode": "opencode",
}
"""Formats that are a client's own transcript, and what the client is called."""


def _opened(path: Path) -> Session | None:
    try:
        return open_transcript(path)
    except InspectorError:
        return None


def _dialect(recording: Path) -> str:
    """Of the first call of a model, by its path."""
    for line in recording.read_text(encoding="utf-8").splitlines():
        path = str(json.loads(line).get("path", ""))
        for dialect, word in _PATHS.items():
            if word in path:
                return dialect
    return ""


_PATHS = {
    "anthropic": "/messages",
    "openai-chat": "/chat/completions",
    "openai-responses": "/responses",
    "gemini": "enerateContent",
}


def compare(transcript: Session, recording: Session, dialect: str) -> Compared:
    """Each rebuilt buffer beside the body that was answered with the same counts."""
    left = sorted(
        (one for thread in recording.threads for one in thread.requests if one.usage), key=_line
    )
    requests = len(left)
    why: Counter[str] = Counter()
    identical = 0
    for thread in transcript.threads:
        told = [one for one in thread.requests if one.usage]
        pairs = _pairs(told, left)
        for one, body in pairs:
            found = differences(one, body, dialect)
            identical += not found
            why.update(found)
        paired = {id(body) for _, body in pairs}
        left = [body for body in left if id(body) not in paired]
    client = transcript.client or CLIENTS.get(transcript.format, "")
    return Compared(client, dialect, requests, len(left), identical, dict(why))


def _line(request: Request) -> int:
    return request.line


def _pairs(rebuilt: Sequence[Request], sent: Sequence[Request]) -> list[tuple[Request, Request]]:
    """Requests of both sides that were answered with the same counts, in their order."""
    mine, others = (
        [(one.usage.prompt, one.usage.output) for one in side if one.usage]
        for side in (rebuilt, sent)
    )
    blocks = SequenceMatcher(None, mine, others, autojunk=False).get_matching_blocks()
    return [(rebuilt[one.a + n], sent[one.b + n]) for one in blocks for n in range(one.size)]


def differences(rebuilt: Request, body: Request, dialect: str) -> list[str]:
    """What differs: a line for each piece, with its role and kind; empty where the two are identical."""
    ours, theirs = list(rebuilt.view), list(body.view)
    if not body.prompt.system and _heads(theirs) > _heads(ours):
        del theirs[0]
    mine, others = (_pieces(side, dialect) for side in (ours, theirs))
    found = []
    for tag, a, b, c, d in SequenceMatcher(None, mine, others, autojunk=False).get_opcodes():
        if tag != "equal":
            found += (
                [f"{role} {kind} is too much" for role, kind, _ in mine[a:b]]
                if tag == "delete"
                else []
            )
            found += (
                [f"{role} {kind} is missing" for role, kind, _ in others[c:d]]
                if tag == "insert"
                else []
            )
            found += (
                [f"{role} {kind} reads otherwise" for role, kind, _ in others[c:d]]
                if tag == "replace"
                else []
            )
    if (
        not found
        and dialect in _TELLS_MESSAGES
        and not _alternates(theirs)
        and _wire_messages(ours) != _wire_messages(theirs)
    ):
        found.append("the pieces are shared out among other wire messages")
    return found


def _heads(messages: Sequence[Message]) -> int:
    """System items in front: where a dialect has no other place for the system prompt, it is the first of them."""
    return next(
        (n for n, message in enumerate(messages) if message.role != "system"), len(messages)
    )


def _alternates(messages: Sequence[Message]) -> bool:
    """Do the two sides take turns? Then adapters join what follows one another, and how it is shared says nothing."""
    sides: list[bool] = []
    before: Message | None = None
    for message in messages:
        if before is None or not same_wire_message(before, message):
            sides.append(message.role == "assistant")
        before = message
    return all(one != other for one, other in pairwise(sides))


def _wire_messages(messages: Sequence[Message]) -> list[int]:
    """How many pieces each wire message has."""
    found: list[int] = []
    before: Message | None = None
    for message in messages:
        if before is not None and same_wire_message(before, message):
            found[-1] += len(message.parts)
        else:
            found.append(len(message.parts))
        before = message
    return found


def _pieces(messages: Sequence[Message], dialect: str) -> list[Piece]:
    names: dict[str, str] = {}
    return [
        (message.role, type(part).__name__, dumps(_said(part, names, dialect)))
        for message in messages
        for part in message.parts
        if not _is_nothing(part)
    ]


def _is_nothing(part: Part) -> bool:
    """An empty text, thinking that is shown to the user only, a signature where there is none."""
    match part:
        case Text(text):
            return not text
        case Thinking(text, signature, tokens):
            return tokens == 0 or (
                not text and signature in ("", "skip_thought_signature_validator")
            )
    return False


def _said(part: Part, names: dict[str, str], dialect: str) -> Any:
    def name(id_: str) -> str:
        return names.setdefault(id_, f"call {len(names)}")

    match part:
        case Text(text) | Thinking(text):
            return text
        case ToolCall(id_, function, arguments):
            return [name(id_), function, json.loads(json.dumps(arguments, sort_keys=True))]
        case ToolResult(call_id, content, is_error):
            return [name(call_id), content, is_error and dialect in _TELLS_ERRORS]
        case Image(media_type, data, url):
            return [media_type, data, url]
        case Opaque(kind, value):
            return [kind, value]


# ---- agents that are played ------------------------------------------------------------------------------------------

ACTORS = (claude_code.ACTOR, codex.ACTOR, pi.ACTOR, opencode.ACTOR, gemini_cli.ACTOR)
_PLAYED = ("task", "compaction")


def play_all(into: Path) -> list[str]:
    """Every installed agent, on each of its wires, through the proxy: a folder each. Returns why some are missing."""
    spaces = unshare()
    if spaces is None:
        return ["this machine does not allow a network of one's own (`unshare --net --pid`)"]
    missing = [why for actor in ACTORS if (why := why_not(actor.name))]
    for actor in (one for one in ACTORS if not why_not(one.name)):
        for wire, trait in actor.wires.items():
            for scenario in (
                one
                for one in SCENARIOS
                if one.name in _PLAYED and (trait.compacts_at or not one.tiny)
            ):
                folder = into / f"{actor.name}-{wire}-{scenario.name}"
                limits, options = scenario.limits(trait), scenario.provider(trait)
                play(
                    spaces,
                    folder,
                    actor,
                    wire,
                    simulate=options,
                    proxy=scenario.proxy(trait),
                    limits=limits,
                )
    return missing


def played_in(folder: Path) -> Iterator[Compared]:
    """What `play_all` left there, by the version that is pinned: not every transcript tells which wrote it."""
    for actor in ACTORS:
        pinned = json.loads(
            (ROOT / "packaging" / "clients" / actor.name / "package.json").read_bytes()
        )["dependencies"]
        name = f"{CLIENTS[actor.name]} {next(iter(pinned.values()))}"
        for one_play in sorted(folder.glob(f"{actor.name}-*")):
            yield from (replace(one, client=name) for one in beside(one_play))


def table(compared: Sequence[Compared]) -> list[str]:
    """A row for each client on each wire."""
    rows: dict[tuple[str, str], list[Compared]] = {}
    for one in compared:
        rows.setdefault((one.client, one.dialect), []).append(one)
    return [
        "| client | dialect | identical | pieces that differ |",
        "|---|---|---:|---|",
        *(_row(client, dialect, found) for (client, dialect), found in rows.items()),
    ]


def _row(client: str, dialect: str, found: Sequence[Compared]) -> str:
    why: Counter[str] = Counter()
    for one in found:
        why.update(one.why)
    told = ", ".join(f"{what}: {count}" for what, count in why.most_common()) or "none"
    requests, missing, identical = (
        sum(getattr(one, name) for one in found) for name in ("requests", "missing", "identical")
    )
    count = f"{identical} of {requests}" + (f", {missing} missing" if missing else "")
    return f"| {client} | {dialect} | {count} | {told} |"
