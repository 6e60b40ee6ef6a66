"""Read untrusted JSON values as an expected type; a value of another type is read as an empty value of that type."""

from collections.abc import Mapping
from typing import Any

from inspector.core.jsontext import NotJson, loads
from inspector.core.usage import MOST


def text_of(value: Any) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def text_at(value: Any, key: str) -> str:
    """Return the string under a key; empty if there is none."""
    text = value.get(key) if type(value) is dict or isinstance(value, Mapping) else None
    return text if isinstance(text, str) else ""


def text_under(value: Any, *keys: str) -> str:
    """Return the string under the first of several keys that holds one; empty if none does."""
    fields = fields_of(value)
    return next((text for key in keys if isinstance(text := fields.get(key), str)), "")


def texts_at(value: Any, key: str) -> list[str]:
    """Return the strings in the list under a key."""
    return [text for text in list_of(fields_of(value).get(key)) if isinstance(text, str)]


def list_of(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def objects_of(value: Any) -> list[Mapping[str, Any]]:
    """Return the JSON objects in a list; empty if the value is no list."""
    if not isinstance(value, list):
        return []
    return [item for item in value if type(item) is dict or isinstance(item, Mapping)]


def fields_of(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, else an empty object."""
    return (
        value if type(value) is dict or (value is not None and isinstance(value, Mapping)) else {}
    )


def object_of(value: Any, key: str) -> Mapping[str, Any]:
    """Return the JSON object under a key; an empty object if there is none."""
    inner = value.get(key) if type(value) is dict or isinstance(value, Mapping) else None
    return (
        inner if type(inner) is dict or (inner is not None and isinstance(inner, Mapping)) else {}
    )


def first_of(value: Any) -> Mapping[str, Any]:
    """Return the first item of a list if it is a JSON object, else an empty object."""
    return fields_of(value[0]) if isinstance(value, list) and value else {}


def object_in(text: Any) -> Mapping[str, Any]:
    """Parse a string as a JSON object; return an empty object if it is none."""
    return (
        fields_of(value_in(text)) if isinstance(text, str) and text.lstrip().startswith("{") else {}
    )


def value_in(text: str | bytes, otherwise: Any = None) -> Any:
    """Parse a text as JSON; return `otherwise` if it is not JSON."""
    try:
        return loads(text.encode("utf-8", "replace") if isinstance(text, str) else text)
    except NotJson:
        return otherwise


def first_object(values: Any) -> Mapping[str, Any]:
    """Return the first of several choices or candidates of an answer, with which the conversation continues."""
    return next((choice for choice in objects_of(values) if not choice.get("index")), {})


def digits_of(text: str) -> int | None:
    """Return a whole number of up to 18 digits; None for any other text. `int` raises for thousands of digits."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def count_of(value: Any) -> int:
    """Return the value if it can be a number of tokens, else 0."""
    return value if type(value) is int and 0 < value <= MOST else 0


def whole_of(value: Any) -> int | None:
    """Return the value if it can be a number of tokens or bytes, else None."""
    return value if type(value) is int and 0 <= value <= MOST else None
