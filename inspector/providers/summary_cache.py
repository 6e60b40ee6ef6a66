"""Summaries on disk, by what was asked: a replay with a real model is repeatable, and a second run costs nothing.

The name of an entry is the hash of the need and of who answered it. Failures are not kept. An entry that cannot be read
is asked for again. The texts are those of the transcript, so the folder is the user's alone.
"""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from inspector.core.answering import Answerer
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.message import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from inspector.core.needs import Answer, Need, RemoteCompact, Summarize
from inspector.core.usage import Usage
from inspector.resources import user_folder

VERSION = 1
_PARTS: dict[str, type[Part]] = {one.__name__: one for one in (Text, Thinking, ToolCall, ToolResult, Image, Opaque)}


def cache_folder() -> Path:
    """Where summaries lie, whether or not there are any (the place follows the XDG rules)."""
    return user_folder("XDG_CACHE_HOME", ".cache") / "summaries"


class Cached:
    """An answerer that asks another only what it has not answered before."""

    def __init__(self, answer: Answerer, who: str, model: str, folder: Path | None = None) -> None:
        self._answer, self._who, self._model = answer, who, model
        self._folder = cache_folder() if folder is None else folder
        self.hits = self.asked = 0

    def __call__(self, need: Need) -> Answer:
        """From disk, or from the answerer. Raises its Failure."""
        if not isinstance(need, Summarize | RemoteCompact):
            return self._answer(need)
        path = self._path(need)
        found = _read(path)
        if found is not None:
            self.hits += 1
            return found
        self.asked += 1
        answer = self._answer(need)
        _write(path, answer)
        return answer

    def _path(self, need: Summarize | RemoteCompact) -> Path:
        asked: dict[str, Any] = {
            "version": VERSION,
            "who": self._who,
            "model": self._model,
            "need": type(need).__name__,
            "instructions": need.instructions,
            "messages": [_message(message) for message in need.messages],
        }
        if isinstance(need, Summarize):
            asked |= {"text": need.text, "max_tokens": need.max_tokens}
        key = sha256(dumps(asked).encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / key[:2] / f"{key}.json"


def _message(message: Message) -> dict[str, Any]:
    """Of a message what a model reads of it."""
    return {
        "role": message.role,
        "together": bool(message.together),
        "parts": [_fields(part) for part in message.parts],
    }


def _fields(part: Part) -> dict[str, Any]:
    """Not by `dataclasses.asdict`: that goes as deep as the arguments of a call, which may be without end."""
    return {"type": type(part).__name__, **{one.name: getattr(part, one.name) for one in fields(part)}}


def _read(path: Path) -> Answer | None:
    try:
        return _answer_of(loads(path.read_bytes()))
    except (OSError, NotJson, TypeError, KeyError, ValueError):
        return None  # not there, or not as we wrote it: asked for again


def _answer_of(found: Any) -> Answer:
    if not isinstance(found, Mapping) or not isinstance(found["text"], str):
        raise TypeError
    messages = tuple(
        Message(one["id"], one["role"], tuple(_part(part) for part in one["parts"])) for one in found["messages"]
    )
    usage = Usage(**found["usage"]) if found["usage"] else None
    return Answer(found["text"], messages, usage, found["finish"], by=found["by"])


def _part(found: Mapping[str, Any]) -> Part:
    values: dict[str, Any] = {
        name: tuple(value) if name == "texts" else value for name, value in found.items() if name != "type"
    }
    return _PARTS[found["type"]](**values)


def _write(path: Path, answer: Answer) -> None:
    document = {
        "text": answer.text,
        "messages": [{"id": message.id, **_message(message)} for message in answer.messages],
        "usage": asdict(answer.usage) if answer.usage else None,
        "finish": answer.finish,
        "by": answer.by,
    }
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".draft-")  # readable by its owner only
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(dumps(document).encode("utf-8", "surrogatepass"))
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
