"""The clients that call `context-inspector hook`: their events, and how the hook is added to their settings."""

import argparse
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from inspector.cli.beside.settings import (
    claude_settings,
    find_command,
    offer_change,
    offer_text,
)
from inspector.cli.output import note
from inspector.core.errors import InspectorError


@dataclass(frozen=True, slots=True)
class HookClient:
    """A client whose settings assign commands to its events."""

    path: Path
    """Path of the client's settings."""
    matchers: Mapping[str, str | None]
    """The matcher of each event that the hook uses; None if the event takes no matcher."""
    timeout: int
    """Time limit of the hook in the client's unit: seconds or milliseconds."""
    hint: str = ""
    """What the user has to do after the installation; empty if nothing."""
    is_plugin: bool = False
    """True if `path` is a plug-in that holds nothing else."""


_AROUND_COMPACTION: Mapping[str, str | None] = {"PreCompact": "", "SessionStart": "compact"}


def _codex() -> HookClient:
    folder = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    hint = "Codex runs a new hook only after you trust the hook: type /hooks in Codex."
    return HookClient(folder / "hooks.json", matchers=_AROUND_COMPACTION, timeout=60, hint=hint)


def _gemini_cli() -> HookClient:
    home = Path(os.environ.get("GEMINI_CLI_HOME") or Path.home())
    return HookClient(home / ".gemini" / "settings.json", {"BeforeAgent": None}, timeout=60_000)


def _opencode() -> HookClient:
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    path = home / "opencode" / "plugins" / "context-inspector.js"
    return HookClient(path, {}, timeout=60_000, is_plugin=True)


CLIENTS: Mapping[str, Callable[[], HookClient]] = {
    "claude-code": lambda: HookClient(claude_settings(), _AROUND_COMPACTION, timeout=60),
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "opencode": _opencode,
}
"""How to find each client's settings on this machine."""


def offer_hook(arguments: argparse.Namespace) -> None:
    """Show the change of the client's settings, ask, and make it. Raises InspectorError."""
    client = CLIENTS[arguments.client]()
    path = Path(arguments.settings or client.path)
    if client.is_plugin:
        write = remove_plugin if arguments.remove else partial(add_plugin, client)
        offer_text(arguments, path, write)
    elif arguments.remove:
        offer_change(arguments, path, lambda settings, command: remove_hooks(settings))
    else:
        offer_change(
            arguments, path, lambda settings, command: add_hooks(client, settings, command)
        )
    if client.hint and arguments.install:
        note(client.hint)


# -- settings as JSON --------------------------------------------------------------------------------------------------


def add_hooks(client: HookClient, settings: dict[str, Any], command: str) -> dict[str, Any]:
    """Return the settings with the hook's command after the existing hooks of each event. Raises InspectorError."""
    bare = remove_hooks(settings)
    hooks = bare.get("hooks") or {}
    if not isinstance(hooks, dict):
        raise InspectorError("`hooks` is not an object in these settings, so nothing was changed.")
    added = dict(hooks)
    for event, matcher in client.matchers.items():
        call = {"type": "command", "command": f"{command} hook", "timeout": client.timeout}
        entry = {"hooks": [call]} if matcher is None else {"matcher": matcher, "hooks": [call]}
        others = hooks.get(event, [])
        if not isinstance(others, list):
            raise InspectorError(
                f"`hooks.{event}` is not a list in these settings, so nothing was changed."
            )
        added[event] = [*others, entry]
    return {**bare, "hooks": added}


def remove_hooks(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings without the hook's command; events that then have no hook are removed."""
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return settings
    remaining: dict[str, Any] = {}
    for event, entries in hooks.items():
        others = _without_ours(entries) if isinstance(entries, list) else entries
        if others or others == entries:
            remaining[event] = others
    if remaining or not hooks:
        return {**settings, "hooks": remaining}
    return {name: value for name, value in settings.items() if name != "hooks"}


def _without_ours(entries: Sequence[Any]) -> list[Any]:
    return [entry for entry in entries if not _is_our_entry(entry)]


def _is_our_entry(entry: Any) -> bool:
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    commands = [hook.get("command") for hook in hooks or [] if isinstance(hook, dict)]
    return len(commands) == 1 and str(commands[0]).endswith("context-inspector hook")


# -- a plug-in of opencode ---------------------------------------------------------------------------------------------

_SIGN = "// Written by `context-inspector hook --install --client opencode`; `--remove` removes this file.\n"
_PLUGIN = """\
import { execFile } from "node:child_process"
import { homedir } from "node:os"
import { join } from "node:path"

const data = process.env.XDG_DATA_HOME || join(homedir(), ".local", "share")

const ask = (event) =>
  new Promise((resolve) => {
    const program = execFile(COMMAND, ["hook"], { timeout: TIMEOUT }, (error, stdout) => {
      try {
        resolve(error || !stdout ? [] : JSON.parse(stdout).context)
      } catch {
        resolve([])
      }
    })
    program.stdin?.on("error", () => {})
    program.stdin?.end(JSON.stringify(event))
  })

export const ContextInspector = async () => ({
  "experimental.session.compacting": async ({ sessionID }, output) => {
    const transcript_path = `${join(data, "opencode", "opencode.db")}#${sessionID}`
    output.context.push(...(await ask({ hook_event_name: "session.compacting", transcript_path })))
  },
})
"""


def add_plugin(client: HookClient, before: str, command: str) -> str:
    """Return the text of the plug-in. Raises InspectorError if another program wrote the existing file."""
    _require_ours(before)
    text = _PLUGIN.replace("COMMAND", json.dumps(find_command()))
    return _SIGN + text.replace("TIMEOUT", str(client.timeout))


def remove_plugin(before: str, command: str) -> str:
    """Return an empty text, which removes the file. Raises InspectorError if another program wrote it."""
    _require_ours(before)
    return ""


def _require_ours(text: str) -> None:
    if text and not text.startswith(_SIGN):
        raise InspectorError(
            "This file was not written by `context-inspector hook`, so it is left alone."
        )
