"""Access to files for tiers: files of the agent's workspace are read, transcripts and large outputs are saved.

Reading never leaves the workspace (`tools.common`) and returns no more than was asked for. Saving goes to a folder of
the product, readable only by its user, and to new files: nothing is ever overwritten. Transcripts that one answerer
saves under the same name are appended to one file.
"""

import os
import re
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from inspector.agent.tools.common import ToolError, Workspace, regular
from inspector.core.answering import Answerer, offline
from inspector.core.dialects.anthropic import write_messages
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.message import Message
from inspector.core.needs import Answer, Need, ProviderFailure, ReadFile, SaveText, SaveTranscript
from inspector.resources import user_folder

WIDEST = 4
"""Bytes of the longest UTF-8 character."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_NAME = 60


def saved_path() -> Path:
    """Return the folder in which tiers save files (according to the XDG rules)."""
    return user_folder("XDG_DATA_HOME", ".local/share") / "saved"


class WorkspaceAnswerer:
    """Answers needs about files itself, and passes all other needs to `answer`. Raises ProviderFailure if a file fails.

    Args:
        answer: Answers the other needs.
        root: The workspace; None if there is none, and then a file's content comes from the recording.
        folder: Where files are saved; None means `saved_path()`.
    """

    def __init__(self, answer: Answerer, root: Path | None, folder: Path | None = None) -> None:
        self._answer = answer
        self._root = root
        self._folder = folder
        self._transcripts: dict[str, Path] = {}

    def cancel(self) -> None:
        """Cancel the current calls of the other answerer, if it can."""
        if (cancel := getattr(self._answer, "cancel", None)) is not None:
            cancel()

    def __call__(self, need: Need) -> Answer:
        match need:
            case ReadFile(path, limit):
                if self._root is None:
                    return offline(need)
                return Answer(text=read_inside(self._root, path, limit))
            case SaveTranscript(messages, name):
                return Answer(text=str(self._append(messages, name)))
            case SaveText(text, name):
                return Answer(
                    text=str(
                        self._write(text.encode("utf-8", "replace"), self._new_path(name, "txt"))
                    )
                )
        return self._answer(need)

    def _append(self, messages: Sequence[Message], name: str) -> Path:
        """Append the messages to a transcript, one line each, in the form that a provider would receive."""
        if name not in self._transcripts:
            self._transcripts[name] = self._new_path(name, "jsonl")
        lines = "".join(f"{dumps(message)}\n" for message in write_messages(messages))
        return self._write(lines.encode("utf-8", "replace"), self._transcripts[name])

    def _new_path(self, name: str, ending: str) -> Path:
        folder = saved_path() if self._folder is None else self._folder
        stem = _UNSAFE.sub("-", name)[:_NAME]
        return folder / f"{stem}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid4().hex[:8]}.{ending}"

    def _write(self, data: bytes, path: Path) -> Path:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
        except OSError as why:
            raise ProviderFailure(f"it could not be saved: {why.strerror or why}") from None
        return path


def read_inside(root: Path, path: str, limit: int | None = None) -> str:
    """Return the first `limit` characters of a regular file inside `root`. Raises ProviderFailure."""
    missing = False
    try:
        with closing(Workspace(root)) as workspace, workspace.place(path) as place:
            missing = place.found is None
            with os.fdopen(regular(place), "rb") as file:
                data = file.read() if limit is None else file.read(limit * WIDEST)
    except (ToolError, InspectorError) as why:
        raise ProviderFailure(str(why), kind="missing" if missing else "refused") from None
    return data.decode("utf-8", "replace")[:limit]
