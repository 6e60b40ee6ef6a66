"""Plain dataclasses to JSON and back, by their fields; and what was answered, without loss.

What equals its default is left out, what is new is ignored. For values made of dataclasses, sequences and mappings of
one kind, messages, optional ones and plain scalars (a policy's Moment, a Usage). A recorded answer is a superset of
what `--answers` takes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from inspector.core.dialects.neutral import read_messages, write_message
from inspector.core.errors import InspectorError
from inspector.core.message import Message
from inspector.core.needs import FAILURES, Answer, Failure, FailureKind, ProviderFailure, failure_name
from inspector.core.usage import Usage

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """A dataclass as an object of the fields that differ from their defaults; tuples as lists."""
    if isinstance(value, Message):
        return write_message(value)
    if is_dataclass(value) and not isinstance(value, type):
        told = ((one.name, getattr(value, one.name)) for one in fields(value) if not _is_default(one, value))
        return {name: to_json(inner) for name, inner in told}
    if isinstance(value, tuple | list):
        return [to_json(inner) for inner in value]
    if isinstance(value, Mapping):
        return {key: to_json(inner) for key, inner in value.items()}
    return value


def _is_default(one: Field[Any], value: Any) -> bool:
    held = getattr(value, one.name)
    if one.default_factory is not MISSING:
        return bool(held == one.default_factory())
    return one.default is not MISSING and bool(held == one.default) and type(held) is type(one.default)


def from_json(kind: type[T], data: Any) -> T:
    """A dataclass from its object. Raises InspectorError for what is no such thing."""
    if not isinstance(data, Mapping):
        raise InspectorError(f"A {kind.__name__} must be a JSON object.")
    hints = _field_types(kind)  # type: ignore[arg-type]
    try:
        return kind(
            **{name: _read(hints[name], data[name], f"{kind.__name__}.{name}") for name in hints.keys() & data.keys()}
        )
    except TypeError:  # a field without a default is missing
        raise InspectorError(
            f"A {kind.__name__} lacks something: {', '.join(sorted(data)) or 'it is empty'}."
        ) from None


@cache
def _field_types(kind: type) -> Mapping[str, Any]:
    """Return the type of each field of a dataclass. Cached: resolving the names of types takes most of the time."""
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}


def _read(hint: Any, data: Any, where: str) -> Any:
    origin, kinds = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if data is None and NoneType in kinds:
            return None
        return _read(next(one for one in kinds if one is not NoneType), data, where)
    if origin is Literal:
        good: bool = data in kinds
    elif origin is Mapping:
        good = isinstance(data, dict)
        if good:
            return {key: _read(kinds[1], one, where) for key, one in data.items()}
    elif hint is Message:
        return read_messages([data], where)[0]
    elif origin in (tuple, Sequence):
        good = isinstance(data, list | tuple)
        if good:
            return tuple(_read(kinds[0], one, where) for one in data)
    elif is_dataclass(hint):
        return from_json(hint, data)  # type: ignore[arg-type]  # a type that is a dataclass
    elif hint is float:
        good = isinstance(data, int | float) and not isinstance(data, bool)
    else:
        good = type(data) is hint
    if not good:
        raise InspectorError(f"{where} cannot be {str(data)[:60]!r}.")
    return data


def write_reply(reply: Answer | Failure) -> dict[str, Any]:
    """An answer or a failure."""
    if isinstance(reply, Failure):
        name = failure_name(reply)
        failed: dict[str, Any] = {"error": name or "http", "message": str(reply)}
        if isinstance(reply, ProviderFailure):
            failed |= {"status": reply.status, "kind": reply.kind}
        elif not name:
            failed["kind"] = "other"
        return failed | ({"elapsed_ms": reply.elapsed_ms} if reply.elapsed_ms else {})
    told: dict[str, Any] = {"text": reply.text}
    if reply.messages:
        told["messages"] = [write_message(message) for message in reply.messages]
    if reply.usage is not None:
        told["usage"] = to_json(reply.usage)
    more = {"finish": reply.finish, "elapsed_ms": reply.elapsed_ms, "by": reply.by}
    return told | {key: value for key, value in more.items() if value}


def read_reply(value: Any) -> Answer | Failure:
    """The same again. Raises InspectorError for what `write_reply` did not write."""
    if not isinstance(value, Mapping):
        raise InspectorError("A recorded answer must be a JSON object.")
    elapsed = value.get("elapsed_ms")
    elapsed_ms = elapsed if isinstance(elapsed, int) else 0
    if "error" in value:
        failure = _read_failure(value)
        failure.elapsed_ms = elapsed_ms
        return failure
    return Answer(
        str(value.get("text") or ""),
        read_messages(value.get("messages") or [], "answer"),
        from_json(Usage, value["usage"]) if value.get("usage") is not None else None,
        str(value.get("finish") or ""),
        elapsed_ms,
        str(value.get("by") or ""),
    )


def _read_failure(value: Mapping[str, Any]) -> Failure:
    message, status, kind = str(value.get("message") or ""), value.get("status"), value.get("kind")
    if named := FAILURES.get(str(value["error"])):
        return named(message)
    if value["error"] != "http":
        raise InspectorError(f"There is no recorded error {value['error']!r}.")
    known: Any = kind if kind in get_args(FailureKind) else "other"
    return ProviderFailure(message, status if isinstance(status, int) else None, known)
