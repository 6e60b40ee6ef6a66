"""`context-inspector hook`: runs at Claude Code's PreCompact and SessionStart, and gives back what a compaction lost.

Before a compaction it notes the rules and open wishes of the user that are in the buffer. Afterwards it prints what of
them is no longer there, which the client puts into the context. A hook never stops the client: it exits with 0.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any

from inspector.cli.beside.settings import add_settings_options, offer_change
from inspector.cli.output import note, write_json
from inspector.core.errors import InspectorError
from inspector.core.findings.give_back import give_back_text, open_and_gone
from inspector.core.findings.lost import recorded_losses
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.replay.pins import PinIndex, collect_pins, recorded_pins
from inspector.core.session import Session
from inspector.resources import user_folder
from inspector.transcripts.files import open_transcript

EVENTS = {"PreCompact": "", "SessionStart": "compact"}
"""Events of the client, with what they are matched by."""
_MOST_CHARACTERS = 8_000
"""Of the text that goes back into the context."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.description = (
        "Reads the hook JSON of Claude Code on standard input (PreCompact, SessionStart)."
    )
    add_settings_options(parser, "the hook")


def run(arguments: argparse.Namespace) -> None:
    """Answer an event, or change the client's settings. Raises InspectorError."""
    if arguments.install or arguments.remove:
        offer_change(arguments, remove_hooks if arguments.remove else add_hooks)
        return
    event = _read_event()
    name, transcript = event.get("hook_event_name"), event.get("transcript_path")
    if name not in EVENTS or not isinstance(transcript, str):
        raise InspectorError(
            "hook reads the JSON of Claude Code's PreCompact or SessionStart on standard input."
        )
    try:
        if name == "PreCompact":
            write_note(transcript)
        elif event.get("source") == EVENTS[name] and (text := find_missing_text(transcript)):
            write_json({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}})
    except InspectorError as failure:
        note(str(failure))  # the client goes on without it


def _read_event() -> dict[str, Any]:
    try:
        event = loads(sys.stdin.buffer.read())
    except NotJson:
        event = None
    return event if isinstance(event, dict) else {}


# -- before and after --------------------------------------------------------------------------------------------------


def write_note(transcript: str) -> None:
    """Note what must survive the compaction that follows. Raises InspectorError."""
    session = open_transcript(Path(transcript))
    path = _note_path(transcript)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    document = {"compactions": len(session.main.compactions), "rules": _present_rules(session)}
    handle = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(dumps(document))


def find_missing_text(transcript: str) -> str:
    """Return what the compaction that just happened lost and still counts; empty for nothing. Raises InspectorError.

    If the client has not yet written the compaction into the transcript, everything that was noted is given back.
    """
    session = open_transcript(Path(transcript))
    noted = _read_note(transcript)
    if len(session.main.compactions) > int(noted.get("compactions", -1)):
        losses = recorded_losses(session, session.main).each
        return give_back_text(open_and_gone(losses[-1].rows))[:_MOST_CHARACTERS] if losses else ""
    rules = [rule for rule in noted.get("rules", []) if isinstance(rule, str)]
    if not rules:
        return ""
    lines = "\n".join(f"- {rule}" for rule in rules)
    return f"The conversation was compacted. Rules of the user that were in it:\n{lines}"[
        :_MOST_CHARACTERS
    ]


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


def _read_note(transcript: str) -> dict[str, Any]:
    try:
        noted = loads(_note_path(transcript).read_bytes())
    except (OSError, NotJson):
        return {}
    return noted if isinstance(noted, dict) else {}


# -- the client's settings ---------------------------------------------------------------------------------------------


def add_hooks(settings: dict[str, Any], command: str) -> dict[str, Any]:
    """Return the settings with our command at each event, after what is there."""
    bare = remove_hooks(settings, command)
    hooks = dict(bare.get("hooks") or {})
    for event, matcher in EVENTS.items():
        entry = {
            "matcher": matcher,
            "hooks": [{"type": "command", "command": f"{command} hook", "timeout": 60}],
        }
        hooks[event] = [*hooks.get(event, []), entry]
    return {**bare, "hooks": hooks}


def remove_hooks(settings: dict[str, Any], command: str) -> dict[str, Any]:
    """Return the settings without our command; events without any other hook go with it."""
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return settings
    remaining: dict[str, Any] = {}
    for event, entries in hooks.items():
        others = _without_ours(entries) if isinstance(entries, list) else entries
        if others or others == entries:
            remaining[event] = others
    rest = {name: value for name, value in settings.items() if name != "hooks"}
    if remaining or not hooks:
        return {name: remaining if name == "hooks" else value for name, value in settings.items()}
    return rest


def _without_ours(entries: Sequence[Any]) -> list[Any]:
    return [entry for entry in entries if not _is_our_entry(entry)]


def _is_our_entry(entry: Any) -> bool:
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    commands = [hook.get("command") for hook in hooks or [] if isinstance(hook, dict)]
    return len(commands) == 1 and str(commands[0]).endswith("context-inspector hook")
