"""`context-inspector hook`: called when an agent compacts, it returns what the compaction lost.

Before a compaction it notes the user's rules that are in the buffer. Afterwards it prints those that are no longer
there, and the client adds them to the context. A hook never stops the client: it exits with 0. `hook_clients.py` knows
which events each client has, and changes its settings.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any, TypeAlias

from inspector.cli.beside.hook_clients import CLIENTS, offer_hook
from inspector.cli.beside.settings import add_settings_options
from inspector.cli.output import note, write_json
from inspector.core.errors import InspectorError
from inspector.core.findings.give_back import give_back_text, open_and_gone
from inspector.core.findings.lost import recorded_losses
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.replay.pins import PinIndex, collect_pins, recorded_pins
from inspector.core.session import Session
from inspector.resources import user_folder
from inspector.transcripts.files import open_transcript

_MOST_CHARACTERS = 8_000
"""Maximum number of characters of the text that is added to the context."""
_Event: TypeAlias = Mapping[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.description = "Reads the JSON of a client's hook on standard input."
    parser.add_argument(
        "--client",
        choices=tuple(CLIENTS),
        default="claude-code",
        help="with --install or --remove: the client whose settings change (default: claude-code)",
    )
    add_settings_options(parser, "the hook")


def run(arguments: argparse.Namespace) -> None:
    """Answer an event, or change the client's settings. Raises InspectorError."""
    if arguments.install or arguments.remove:
        offer_hook(arguments)
        return
    event = _read_event()
    name = event.get("hook_event_name")
    transcript = event.get("transcript_path")
    answer = _ANSWERS.get(name) if isinstance(name, str) else None
    if answer is None or not isinstance(transcript, str | None):
        raise InspectorError(
            "hook reads the JSON of a client's hook on standard input; --install sets it up."
        )
    try:
        if transcript and (document := answer(event, transcript)):  # an unsaved session has no file
            write_json(document)
    except InspectorError as failure:
        note(str(failure))  # the client continues without the text


def _read_event() -> dict[str, Any]:
    try:
        event = loads(sys.stdin.buffer.read())
    except NotJson:
        event = None
    return event if isinstance(event, dict) else {}


# -- before and after --------------------------------------------------------------------------------------------------


def write_note(transcript: str) -> None:
    """Note the user's rules before the compaction that follows. Raises InspectorError."""
    session = open_transcript(Path(transcript))
    rules = _present_rules(session)
    _save_note(transcript, {"compactions": len(session.main.compactions), "rules": rules})


def find_missing_text(transcript: str) -> str:
    """Return what the compaction lost that still matters; empty if nothing. Raises InspectorError.

    If the client has not yet written the compaction into the transcript, all noted rules are returned.
    """
    session = open_transcript(Path(transcript))
    noted = _read_note(transcript)
    if len(session.main.compactions) > int(noted.get("compactions", -1)):
        return _write_losses(session)
    rules = [rule for rule in noted.get("rules", []) if isinstance(rule, str)]
    if not rules:
        return ""
    text = "The conversation was compacted. Rules of the user that were in it:\n" + _list_lines(
        rules
    )
    return text[:_MOST_CHARACTERS]


def _write_losses(session: Session) -> str:
    losses = recorded_losses(session, session.main).each
    return give_back_text(open_and_gone(losses[-1].rows))[:_MOST_CHARACTERS] if losses else ""


def _list_lines(rules: Sequence[str]) -> str:
    return "\n".join(f"- {rule}" for rule in rules)


def _present_rules(session: Session) -> list[str]:
    rules = [pin for pin in collect_pins(session.main) if pin.origin == "constraint"]
    histories = recorded_pins(session.main, PinIndex(rules))
    return [
        history.pin.text
        for history in histories
        if history.spans and history.spans[-1].state != "gone"
    ]


def _note_path(transcript: str) -> Path:
    name = sha1(
        os.path.abspath(transcript).encode("utf-8", "surrogateescape"), usedforsecurity=False
    ).hexdigest()
    return user_folder("XDG_STATE_HOME", ".local/state") / "hook" / f"{name}.json"


def _save_note(transcript: str, document: Mapping[str, Any]) -> None:
    path = _note_path(transcript)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(dumps(document))


def _read_note(transcript: str) -> dict[str, Any]:
    try:
        noted = loads(_note_path(transcript).read_bytes())
    except (OSError, NotJson):
        return {}
    return noted if isinstance(noted, dict) else {}


# -- the events of the clients -----------------------------------------------------------------------------------------


def _answer_pre_compact(event: _Event, transcript: str) -> _Event:
    """Handle the event before a compaction in Claude Code and Codex."""
    write_note(transcript)
    return {}


def _answer_session_start(event: _Event, transcript: str) -> _Event:
    """Handle the start of a session in Claude Code and Codex, which may continue with a compacted buffer."""
    text = find_missing_text(transcript) if event.get("source") == "compact" else ""
    return _add_context("SessionStart", text)


def _answer_before_agent(event: _Event, transcript: str) -> _Event:
    """Handle the start of a user's turn in Gemini CLI, which may have compacted the buffer in the previous turn."""
    session = open_transcript(Path(transcript))
    count = len(session.main.compactions)
    known = _read_note(transcript).get("compactions")
    if known != count:
        _save_note(transcript, {"compactions": count})
    text = _write_losses(session) if isinstance(known, int) and count > known else ""
    return _add_context("BeforeAgent", text)


def _answer_compacting(event: _Event, transcript: str) -> _Event:
    """Handle opencode's event before a summary: add text to the prompt for it."""
    rules = _present_rules(open_transcript(Path(transcript)))
    if not rules:
        return {}
    text = "Keep these rules of the user in the summary, word for word:\n" + _list_lines(rules)
    return {"context": [text[:_MOST_CHARACTERS]]}


def _add_context(event: str, text: str) -> _Event:
    if not text:
        return {}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


_ANSWERS: Mapping[str, Callable[[_Event, str], _Event]] = {
    "PreCompact": _answer_pre_compact,
    "SessionStart": _answer_session_start,
    "BeforeAgent": _answer_before_agent,
    "session.compacting": _answer_compacting,
}
