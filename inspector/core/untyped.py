"""Values of JSON that somebody else wrote: each read as the kind that is wanted, else as an empty one."""

from collections.abc import Mapping
from typing import Any

from inspector.core.jsontext import NotJson, loads
from inspector.core.usage import MOST


def text_of(value: Any) -> str:
    """The value where it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def text_at(value: Any, key: str) -> str:
    """The string under a key; empty where there is none."""
    text = value.get(key) if type(value) is dict or isinstance(value, Mapping) else None
    return text if isinstance(text, str) else ""


def text_under(value: Any, *keys: str) -> str:
    """Return the string under the first of several keys that holds one; empty if none does."""
    fields = fields_of(value)
    return next((text for key in keys if isinstance(text := fields.get(key), str)), "")


def texts_at(value: Any, key: str) -> list[str]:
    """The strings in the list under a key."""
    return [text for text in list_of(fields_of(value).get(key)) if isinstance(text, str)]


def list_of(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects_of(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list; none where the value is no list."""
    return (
        [item for item in value if type(item) is dict or isinstance(item, Mapping)]
        if isinstance(value, list)
        else []
    )


def fields_of(value: Any) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one."""
    return (
        value if type(value) is dict or (value is not None and isinstance(value, Mapping)) else {}
    )


def object_of(value: Any, key: str) -> Mapping[str, Any]:
    """The object under a key; an empty one where there is none."""
    inner = value.get(key) if type(value) is dict or isinstance(value, Mapping) else None
    return (
        inner if type(inner) is dict or (inner is not None and isinstance(inner, Mapping)) else {}
    )


def first_of(value: Any) -> Mapping[str, Any]:
    """The first item of a list where it is an object; else an empty one."""
    return fields_of(value[0]) if isinstance(value, list) and value else {}


def object_in(text: Any) -> Mapping[str, Any]:
    """The object that a string holds as JSON; an empty one where it holds none."""
    return (
        fields_of(value_in(text)) if isinstance(text, str) and text.lstrip().startswith("{") else {}
    )


def value_in(text: str | bytes, otherwise: Any = None) -> Any:
    """What a text holds as JSON; `otherwise` where it holds none."""
    try:
        return loads(text.encode("utf-8", "replace") if isinstance(text, str) else text)
    except NotJson:
        return otherwise


def first_object(values: Any) -> Mapping[str, Any]:
    """Return the first of several choices or candidates: the conversation continues with that one."""
    return next((choice for choice in objects_of(values) if not choice.get("index")), {})


def digits_of(text: str) -> int | None:
    """A whole number as it is written, up to 18 digits; None for what is none. Python refuses to read thousands."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def count_of(value: Any) -> int:
    """A number of tokens; 0 for what is none."""
    return value if type(value) is int and 0 < value <= MOST else 0


def whole_of(value: Any) -> int | None:
    """A number of tokens, bytes or the like; None for what is none."""
    return value if type(value) is int and 0 <= value <= MOST else None
