"""`context-inspector statusline`: print the line that Claude Code shows below its prompt. See
`inspector/statusline.py`.
"""

import argparse
import os
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from inspector.cli.beside.settings import add_settings_options, claude_settings, offer_change
from inspector.cli.output import write_json
from inspector.cli.select import add_options
from inspector.core.errors import InspectorError
from inspector.core.findings.triggers import client_trigger
from inspector.core.jsontext import dumps
from inspector.core.replay.pins import PinIndex, collect_pins, recorded_pins
from inspector.core.session import Session, Thread
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.windows import find_window
from inspector.extensions.windows import user_windows
from inspector.statusline import index_folder, index_path, main
from inspector.transcripts.files import open_transcript

_RECENT = 20
"""Number of recent requests from which the growth of the buffer is computed."""
_KEPT = 100
"""Number of newest indexes that are kept."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.description = (
        "Reads the status JSON of Claude Code on standard input and prints one line."
    )
    parser.add_argument(
        "--refresh",
        metavar="FILE",
        help="measure a transcript now, so that the next status lines show its figures",
    )
    add_settings_options(parser, "the status line")
    add_options(parser, "--json")


def run(arguments: argparse.Namespace) -> None:
    """Print the line, write an index, or change the client's settings. Raises InspectorError."""
    if arguments.install or arguments.remove:
        path = Path(arguments.settings or claude_settings())
        offer_change(arguments, path, remove_line if arguments.remove else add_line)
    elif arguments.refresh:
        index = refresh_index(arguments.refresh)
        if arguments.json:
            write_json(index)
    elif main():
        raise SystemExit(1)


def add_line(settings: dict[str, Any], command: str) -> dict[str, Any]:
    """Return the settings with the program's status line. Raises InspectorError if they have another one."""
    line = settings.get("statusLine")
    if line and not _is_ours(line):
        raise InspectorError(
            "These settings already have another status line: remove `statusLine` from the settings first."
        )
    return {**settings, "statusLine": {"type": "command", "command": f"{command} statusline"}}


def remove_line(settings: dict[str, Any], command: str) -> dict[str, Any]:
    """Return the settings without the program's status line."""
    return {
        name: value
        for name, value in settings.items()
        if name != "statusLine" or not _is_ours(value)
    }


def _is_ours(line: Any) -> bool:
    command = line.get("command") if isinstance(line, dict) else None
    return isinstance(command, str) and command.endswith("context-inspector statusline")


def refresh_index(file: str) -> dict[str, Any]:
    """Measure a transcript and store its index. Raises InspectorError."""
    started = time.monotonic()
    path = index_path(file)
    try:
        size = os.path.getsize(file)
        index = {"bytes": size, **measure_session(open_transcript(Path(file)))}
        index["took_s"] = round(time.monotonic() - started, 3)
        folder = Path(index_folder())
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = Path(f"{path}.{os.getpid()}")
        draft.write_text(dumps(index), "utf-8")
        draft.replace(path)
        _forget_oldest(folder)
    finally:
        with suppress(OSError):
            os.unlink(f"{path}.lock")
    return index


def measure_session(session: Session) -> dict[str, Any]:
    """Return what the status line shows besides the current size.

    `window`, `trigger` and `growth` are in tokens, null if unknown. `rules` counts the user's rules that are in the
    buffer
    now and that no instruction file will restore after the next compaction.
    """
    thread = session.main
    pressures = known_pressures(thread)
    window = find_window(session, thread, None, None, user_windows()).tokens
    trigger = client_trigger(session, thread, pressures, window)
    return {
        "window": window,
        "trigger": round(median(trigger.tokens)) if trigger else None,
        "observed": bool(trigger and trigger.observed),
        "growth": _find_growth(thread),
        "rules": _count_rules(thread),
        "requests": len(thread.requests),
    }


def _find_growth(thread: Thread) -> int | None:
    """Return the mean growth per request since the last compaction, in tokens; None with fewer than two reports."""
    start = max((compaction.before_request for compaction in thread.compactions), default=0)
    usages = [request.usage for request in thread.requests[start:]]
    sizes = [usage.prompt for usage in usages if usage is not None][-_RECENT - 1 :]
    if len(sizes) < 2 or sizes[-1] <= sizes[0]:
        return None
    return round((sizes[-1] - sizes[0]) / (len(sizes) - 1)) or None


def _count_rules(thread: Thread) -> int:
    rules = [pin for pin in collect_pins(thread) if pin.origin == "constraint"]
    histories = recorded_pins(thread, PinIndex(rules))
    last = [history.spans[-1] for history in histories if history.spans]
    return sum(span.state != "gone" for span in last)


def _forget_oldest(folder: Path) -> None:
    indexes = sorted(folder.glob("*.json"), key=lambda path: -path.stat().st_mtime)
    for path in indexes[_KEPT:]:
        path.unlink(missing_ok=True)
