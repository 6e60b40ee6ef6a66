"""Cache summaries on disk by their need, so that a replay with a real model is repeatable and a second run costs
nothing.

The name of an entry is the hash of the need and of the answerer. Failures are not kept. An entry that cannot be read is
requested again. The texts come from the transcript, so only the user may read the folder.
"""

import os
import tempfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from inspector.core.answering import Answerer
from inspector.core.dialects.neutral import write_message
from inspector.core.errors import InspectorError
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.message import Message
from inspector.core.needs import Answer, Need, RemoteCompact, Summarize
from inspector.core.recording import read_reply, write_reply
from inspector.resources import user_folder

VERSION = 2


def cache_folder() -> Path:
    """Return the folder of the cached summaries, which need not exist (according to the XDG rules)."""
    return user_folder("XDG_CACHE_HOME", ".cache") / "summaries"


class Cached:
    """An answerer that passes a need on only if its answer is not cached."""

    def __init__(self, answer: Answerer, who: str, model: str, folder: Path | None = None) -> None:
        self._answer = answer
        self._who = who
        self._model = model
        self._folder = cache_folder() if folder is None else folder
        self.hits = self.asked = 0

    def __call__(self, need: Need) -> Answer:
        """Return the cached answer, or that of the other answerer. Raises the other's Failure."""
        if not isinstance(need, Summarize | RemoteCompact):
            return self._answer(need)
        path = self._path(need)
        cached = _read(path)
        if cached is not None:
            self.hits += 1
            return cached
        self.asked += 1
        answer = self._answer(need)
        _write(path, answer)
        return answer

    def _path(self, need: Summarize | RemoteCompact) -> Path:
        key_fields: dict[str, Any] = {
            "version": VERSION,
            "who": self._who,
            "model": self._model,
            "need": type(need).__name__,
            "instructions": need.instructions,
            "messages": [write_message(_as_read(message)) for message in need.messages],
        }
        if isinstance(need, Summarize):
            key_fields |= {"text": need.text, "max_tokens": need.max_tokens}
        key = sha256(dumps(key_fields).encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / key[:2] / f"{key}.json"


def _as_read(message: Message) -> Message:
    """Return only what a model reads of a message."""
    return Message("", message.role, message.parts, together="together" if message.together else "")


def _read(path: Path) -> Answer | None:
    """Read an entry; None if it is missing or damaged, so that it is requested again."""
    try:
        document = loads(path.read_bytes())
        reply = read_reply(document)
    except (OSError, NotJson, InspectorError):
        return None
    return reply if isinstance(reply, Answer) and isinstance(document.get("text"), str) else None


def _write(path: Path, answer: Answer) -> None:
    document = write_reply(replace(answer, elapsed_ms=0))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Only its owner can read it.
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".draft-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(dumps(document).encode("utf-8", "surrogatepass"))
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
