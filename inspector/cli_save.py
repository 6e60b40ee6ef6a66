"""Writes what a command made: through a temporary file, and never over a file that is there unless told to."""

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from inspector.cli_select import Selection
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.export import transcript
from inspector.core.export.birth import Birth
from inspector.core.jsontext import dumps
from inspector.core.wire import anthropic, openai_chat
from inspector.core.wire.openai_responses_write import write_body as write_responses

MAX_TOKENS = 32_000


def save_json(value: Any, path: str, force: bool) -> None:
    """One JSON document."""
    save_text(dumps(value) + "\n", path, force)


def save_payload(chosen: Selection, buffer: Buffer, path: str, shape: str, model: str, force: bool) -> None:
    """The buffer as a request body, or as a transcript in the session's own format."""
    writers = {
        "anthropic": anthropic.write_body,
        "openai-chat": openai_chat.write_body,
        "openai-responses": write_responses,
    }
    if shape in writers:
        save_json(writers[shape](buffer, model, MAX_TOKENS), path, force)
    else:
        birth = Birth(str(uuid4()), _now(), str(Path.cwd()), model)
        save_text(transcript(chosen.session.format, buffer, birth), path, force)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def save_text(text: str, path: str, force: bool) -> None:
    """Whole or not at all. Raises InspectorError where the file exists and `force` is not set."""
    target = Path(path)
    if target.exists() and not force:
        raise InspectorError(f"{path} exists; --force replaces it, another name keeps it.")
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(draft).replace(target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
