"""One line of the file, with the fields that decide where it belongs."""

from typing import Any

from inspector.core.usage import MOST


def text(value: Any, key: str) -> str:
    """The string at `key`, or empty where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def mapping(value: Any, key: str) -> dict[str, Any]:
    """The object at `key`, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def texts(value: Any, key: str) -> list[str]:
    """The strings in the list at `key`."""
    found = value.get(key) if isinstance(value, dict) else None
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def count(value: Any, key: str) -> int | None:
    """The whole number at `key`, or None."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if type(found) is int and 0 <= found <= MOST else None


class Record:
    """A parsed line that has a place in the chain of records."""

    __slots__ = ("file", "line", "parent", "time", "uuid", "value")

    def __init__(self, value: dict[str, Any], line: int, file: str = "") -> None:
        self.value, self.line, self.file = value, line, file
        uuid, parent, time = value.get("uuid"), value.get("parentUuid", ""), value.get("timestamp")
        self.uuid: str = uuid if isinstance(uuid, str) and uuid else f"{file}line-{line}"
        self.parent: str | None = parent if parent is None or isinstance(parent, str) else ""
        """uuid of the record it hangs on; None = on nothing, it is a beginning; empty = it does not say."""
        self.time: str = time if isinstance(time, str) else ""
