"""The headers of a recorded exchange, by lower-case name. Values that were not recorded are absent."""

from collections.abc import Mapping
from typing import Any

from inspector.core.jsontext import NotJson, loads

_HIDDEN = "(redacted)"


def read_headers(value: Any) -> Mapping[str, str]:
    """Name to value, of `[[name, value], ...]`; the first of several. Never raises."""
    found: dict[str, str] = {}
    for pair in value if isinstance(value, list) else ():
        match pair:
            case [str(name), str(told)] if told != _HIDDEN:
                found.setdefault(name.lower(), told)
    return found


def read_json(text: Any) -> Mapping[str, Any]:
    """The object that a string holds; an empty one where it holds none."""
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return {}
    try:
        value = loads(text.encode("utf-8", "replace"))
    except NotJson:
        return {}
    return value if isinstance(value, Mapping) else {}
