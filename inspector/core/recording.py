"""Convert plain dataclasses to JSON and back by their fields, and answers of needs without loss.

Fields that equal their defaults are left out; unknown fields are ignored. Supported values are dataclasses, sequences
and mappings of one type, messages, optional values and plain scalars. A recorded answer is a superset of the JSON that
`--answers` takes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from inspector.core.dialects.neutral import read_messages, write_message
from inspector.core.errors import InspectorError
from inspector.core.message import Message
from inspector.core.needs import (
    FAILURES,
    Answer,
    Failure,
    FailureKind,
    ProviderFailure,
    failure_name,
)
from inspector.core.usage import Usage

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """Write a dataclass as an object of the fields that differ from their defaults; tuples as lists."""
    if isinstance(value, Message):
        return write_message(value)
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if not _is_default(field, value)]
        return {name: to_json(getattr(value, name)) for name in names}
    if isinstance(value, tuple | list):
        return [to_json(inner) for inner in value]
    if isinstance(value, Mapping):
        return {key: to_json(inner) for key, inner in value.items()}
    return value


def _is_default(field: Field[Any], value: Any) -> bool:
    held = getattr(value, field.name)
    if field.default_factory is not MISSING:
        return bool(held == field.default_factory())
    if field.default is MISSING or type(held) is not type(field.default):
        return False
    return bool(held == field.default)


def from_json(kind: type[T], data: Any) -> T:
    """Read a dataclass from its JSON object. Raises InspectorError if the data does not fit the dataclass."""
    if not isinstance(data, Mapping):
        raise InspectorError(f"A {kind.__name__} must be a JSON object.")
    hints = _field_types(kind)  # type: ignore[arg-type]
    try:
        values = {
            name: _read(hints[name], data[name], f"{kind.__name__}.{name}")
            for name in hints.keys() & data.keys()
        }
        return kind(**values)
    except TypeError:  # a field without a default is missing
        names = ", ".join(sorted(data)) or "it is empty"
        raise InspectorError(f"A {kind.__name__} lacks something: {names}.") from None


@cache
def _field_types(kind: type) -> Mapping[str, Any]:
    """Return the type of each field of a dataclass. Cached: resolving the names of types takes most of the time."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _read(hint: Any, data: Any, where: str) -> Any:
    """Read a value as the type `hint`. Raises InspectorError, which names `where`, if the value has another type."""
    origin = get_origin(hint)
    kinds = get_args(hint)
    if origin in (Union, UnionType):
        return _read_union(kinds, data, where)
    if hint is Message:
        return read_messages([data], where)[0]
    if origin is Mapping and isinstance(data, dict):
        _, value_type = kinds
        return {key: _read(value_type, value, where) for key, value in data.items()}
    if origin in (tuple, Sequence) and isinstance(data, list | tuple):
        item_type = kinds[0]
        return tuple(_read(item_type, value, where) for value in data)
    if is_dataclass(hint):
        return from_json(hint, data)  # type: ignore[arg-type]  # a type that is a dataclass
    if not _is_plain(hint, data):
        raise InspectorError(f"{where} cannot be {str(data)[:60]!r}.")
    return data


def _read_union(kinds: Sequence[Any], data: Any, where: str) -> Any:
    """Read an optional value: None, or a value of the other type of the union."""
    if data is None and NoneType in kinds:
        return None
    return _read(next(kind for kind in kinds if kind is not NoneType), data, where)


def _is_plain(hint: Any, data: Any) -> bool:
    """Is `data` a scalar of the type `hint`?"""
    if get_origin(hint) is Literal:
        return data in get_args(hint)
    if hint is float:
        return isinstance(data, int | float) and not isinstance(data, bool)
    return type(data) is hint


def write_reply(reply: Answer | Failure) -> dict[str, Any]:
    """Return an answer or a failure as a JSON object."""
    if isinstance(reply, Failure):
        return _write_failure(reply)
    document: dict[str, Any] = {"text": reply.text}
    if reply.messages:
        document["messages"] = [write_message(message) for message in reply.messages]
    if reply.usage is not None:
        document["usage"] = to_json(reply.usage)
    more = {"finish": reply.finish, "elapsed_ms": reply.elapsed_ms, "by": reply.by}
    return document | {key: value for key, value in more.items() if value}


def _write_failure(failure: Failure) -> dict[str, Any]:
    name = failure_name(failure)
    document: dict[str, Any] = {"error": name or "http", "message": str(failure)}
    if isinstance(failure, ProviderFailure):
        document |= {"status": failure.status, "kind": failure.kind}
    elif not name:
        document["kind"] = "other"
    if failure.elapsed_ms:
        document["elapsed_ms"] = failure.elapsed_ms
    return document


def read_reply(value: Any) -> Answer | Failure:
    """Read an answer or a failure. Raises InspectorError if the value is not one that `write_reply` returns."""
    if not isinstance(value, Mapping):
        raise InspectorError("A recorded answer must be a JSON object.")
    elapsed = value.get("elapsed_ms")
    elapsed_ms = elapsed if isinstance(elapsed, int) else 0
    if "error" in value:
        failure = _read_failure(value)
        failure.elapsed_ms = elapsed_ms
        return failure
    text = str(value.get("text") or "")
    messages = read_messages(value.get("messages") or [], "answer")
    usage = from_json(Usage, value["usage"]) if value.get("usage") is not None else None
    return Answer(
        text,
        messages,
        usage,
        finish=str(value.get("finish") or ""),
        elapsed_ms=elapsed_ms,
        by=str(value.get("by") or ""),
    )


def _read_failure(value: Mapping[str, Any]) -> Failure:
    message = str(value.get("message") or "")
    status = value.get("status")
    failure_type = FAILURES.get(str(value["error"]))
    if failure_type is not None:
        return failure_type(message)
    if value["error"] != "http":
        raise InspectorError(f"There is no recorded error {value['error']!r}.")
    kind: Any = value.get("kind")
    if kind not in get_args(FailureKind):
        kind = "other"
    return ProviderFailure(message, status if isinstance(status, int) else None, kind)
