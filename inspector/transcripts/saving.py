"""Write output files: through a temporary file, never over an existing file unless forced, and never over a source.

A transcript that the user opened is never changed, even if they ask for it: it belongs to the agent that wrote it.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from inspector import __version__
from inspector.core.buffer import Buffer
from inspector.core.dialects import anthropic, openai_chat
from inspector.core.dialects.openai_responses_body import write_responses_body as write_responses
from inspector.core.errors import InspectorError
from inspector.core.export import WRITERS, Birth, transcript
from inspector.core.formats.proxy.whole import har_text
from inspector.core.jsontext import dumps
from inspector.core.session import Session
from inspector.transcripts.database import split_session_path
from inspector.transcripts.files import whole_exchanges

MAX_TOKENS = 32_000
NATIVE = "native"
"""The shape of a transcript in the session's own format."""
_PAYLOADS: Mapping[str, Callable[[Buffer, str, int], dict[str, Any]]] = MappingProxyType(
    {
        "anthropic": anthropic.write_anthropic_body,
        "openai-chat": openai_chat.write_chat_body,
        "openai-responses": write_responses,
    }
)
SHAPES = (*_PAYLOADS, NATIVE)


def can_be_native(format: str) -> bool:  # noqa: A002
    """Can a transcript of this format be written?"""
    return format in WRITERS


def buffer_text(buffer: Buffer, shape: str, format: str, model: str) -> str:  # noqa: A002
    """Return the buffer as a request body, or as a transcript that its agent can resume: a new session with its own id.

    Raises InspectorError for a format that cannot be written.
    """
    if shape in _PAYLOADS:
        return dumps(_PAYLOADS[shape](buffer, model, MAX_TOKENS)) + "\n"
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return transcript(
        format, buffer, Birth(str(uuid4()), time=now, cwd=str(Path.cwd()), model=model)
    )


def check_target(path: str, force: bool) -> None:
    """Raise InspectorError if a file exists that may not be replaced."""
    if not force and Path(path).exists():
        raise InspectorError(f"{path} exists; --force replaces it, another name keeps it.")


def save_text(text: str | bytes | Iterable[str], path: str, force: bool, source: str = "") -> None:
    """Write a file completely or not at all; a long text may come in pieces.

    Args:
        text: The content.
        path: The file.
        force: Replace an existing file.
        source: The transcript that the content was made from; empty if there is none.

    Raises:
        InspectorError: The file exists and `force` is not set, it is the source itself, or it cannot be written.
    """
    target = Path(path)
    if source and _is_same(target, Path(source)):
        raise InspectorError(
            f"{path} is the transcript itself; it is never overwritten. Choose another name."
        )
    try:
        check_target(path, force)
        _write(text, target)
    except (OSError, ValueError) as failure:
        why = failure.strerror or failure if isinstance(failure, OSError) else failure
        raise InspectorError(f"{path} cannot be written: {why}.") from None


def save_har(session: Session, target: str, force: bool) -> None:
    """Save the exchanges of a recording as an HTTP archive. Raises InspectorError, also if the session has none."""
    if session.format != "proxy":
        raise InspectorError(
            f"{session.path} is not a recording of the proxy: it holds no exchanges to export."
        )
    save_text(
        har_text(whole_exchanges(session.path), __version__),
        path=target,
        force=force,
        source=session.path,
    )


def _write(text: str | bytes | Iterable[str], target: Path) -> None:
    # A short name of its own: the target's name may already have the greatest length allowed.
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=".draft-")
    try:
        if isinstance(text, bytes):
            with os.fdopen(handle, "wb") as binary:
                binary.write(text)
        else:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.writelines((text,) if isinstance(text, str) else text)
        Path(draft).replace(target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(split_session_path(other)[0])
    except OSError:  # one of them does not exist
        return False
