"""What a person asked a run to be, and what of it is remembered for the next time (never a key)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from PySide6.QtCore import QDateTime, QStandardPaths

from inspector.core.jsontext import NotJson, dumps, loads
from inspector.gui.settings import Settings
from inspector.safety.addresses import address_trouble

Permissions: TypeAlias = Literal["ask", "always", "never"]
NeedsBy: TypeAlias = Literal["provider", "offline", "hand"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the person asked for; the same fields as a plan has."""

    task: str = ""
    workspace: str = ""
    provider: str = "simulated"
    model: str = ""
    policy: str = "roku"
    settings: tuple[tuple[str, str], ...] = ()
    window: int | None = None
    permissions: Permissions = "ask"
    needs_by: NeedsBy = "provider"
    record: str = ""
    paused: bool = False
    ours: bool = False
    """Of a fork: our agent's system prompt in the place of the recorded one."""


_KEPT = ("task", "workspace", "provider", "model", "policy", "permissions", "needs_by")


def remember(settings: Settings, wanted: Wanted) -> None:
    """For the next time."""
    told = {name: getattr(wanted, name) for name in _KEPT}
    told |= {"settings": [list(pair) for pair in wanted.settings], "window": wanted.window}
    settings.keep_text("run/last", dumps(told))


def remembered(settings: Settings) -> Wanted:
    """As it was asked for the last time, with a journal of its own."""
    try:
        told = loads(settings.text("run/last", "{}").encode())
    except NotJson:
        told = {}
    told = told if isinstance(told, dict) else {}
    kept = {name: told[name] for name in _KEPT if isinstance(told.get(name), str)}
    if address_trouble(kept.get("provider", "")):  # kept by an earlier version
        del kept["provider"]
    pairs = tuple((str(one[0]), str(one[1])) for one in told.get("settings") or () if len(one) == 2)
    window = told.get("window") if isinstance(told.get("window"), int) else None
    return Wanted(**kept, settings=pairs, window=window, record=new_record())


def new_record() -> str:
    """A journal that is not there yet, in the user's own data folder."""
    folder = Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericDataLocation))
    stamp = QDateTime.currentDateTime().toString("yyyyMMdd-HHmmss")
    return str(folder / "context-inspector" / "runs" / f"run-{stamp}.jsonl")
