"""The bytes that came over the wire and those that went back, for who wants to compare. Keys are left out."""

import os
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps


class WireLog:
    """JSONL, a line an exchange once it is over; its owner's file alone. Raises InspectorError."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise InspectorError(f"{path} cannot be written: {error.strerror or error}") from None

    def add(
        self, method: str, path: str, headers: Mapping[str, str], received: bytes, status: int, sent: bytes
    ) -> None:
        """One exchange: both sides as they were on the wire, before any unpacking."""
        told = {"method": method, "path": path, "headers": dict(headers), "status": status}
        line = dumps({**told, "received": _bytes(received), "sent": _bytes(sent)}) + "\n"
        os.write(self._file, line.encode("utf-8", "replace"))

    def close(self) -> None:
        """Nothing is written after this."""
        os.close(self._file)


def _bytes(data: bytes) -> dict[str, Any]:
    return {"size": len(data), "sha256": sha256(data).hexdigest(), "base64": b64encode(data).decode()}
