"""Settings as `KEY=VALUE`: read into the fields of a frozen dataclass, by any spelling the harness uses.

A field's metadata may hold `names` (further spellings), `low`, `high` (inclusive limits) and `open` (limits excluded).
"""

from collections.abc import Iterable, Sequence
from dataclasses import Field, field, fields, replace
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from inspector.core.errors import InspectorError


class UnknownSetting(InspectorError):
    """The policy has no setting of that name. The sentence names those that it has."""


S = TypeVar("S")
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


def setting(
    default: Any, what: str, *, names: Sequence[str] = (), low: float | None = None, high: float | None = None
) -> Any:
    """A dataclass field with its meaning, its further names and its hard limits (inclusive)."""
    return field(default=default, metadata={"what": what, "names": tuple(names), "low": low, "high": high})


def apply(settings: S, values: Iterable[tuple[str, str]]) -> S:
    """`settings` with the given values. Raises InspectorError for an unknown name or an impossible value."""
    by_name = _names(settings)
    hints = get_type_hints(type(settings))
    for key, text in values:
        name = by_name.get(_plain(key))
        if name is None:
            known = ", ".join(one.name for one in fields(settings))  # type: ignore[arg-type]
            raise UnknownSetting(f"There is no setting {key!r}. Known: {known}.")
        settings = replace(settings, **{name: _value(key, text, hints[name])})  # type: ignore[type-var]
    return check(settings)


def check(settings: S) -> S:
    """The settings, if every value lies within its field's limits. Raises InspectorError."""
    for one in fields(settings):  # type: ignore[arg-type]
        _check_one(one, getattr(settings, one.name))
    return settings


def _check_one(one: Field[Any], value: Any) -> None:
    low, high = one.metadata.get("low"), one.metadata.get("high")
    if value is None or not isinstance(value, int | float):
        return
    if (low is not None and value < low) or (high is not None and value > high) or value != value:
        bounds = f"at least {low:,}" if high is None else f"between {low or 0:,} and {high:,}"
        raise InspectorError(f"{one.name} must be {bounds}, not {value:,}.")


def _names(settings: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in fields(settings):  # type: ignore[arg-type]
        for name in (one.name, *one.metadata.get("names", ())):
            found[_plain(name)] = one.name
    return found


def _plain(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())


def _value(key: str, text: str, hint: Any) -> Any:
    if get_origin(hint) is Literal:
        return _choice(key, text, get_args(hint))
    kinds = set(get_args(hint)) or {hint}
    try:
        if bool in kinds:
            return _boolean(text)
        if int in kinds:
            return _optional(text, type(None) in kinds, lambda t: int(t.replace("_", "").replace(",", "")))
        if float in kinds:
            return _optional(text, type(None) in kinds, float)
    except ValueError:
        wanted = "a yes or no" if bool in kinds else "a whole number" if int in kinds else "a number"
        raise InspectorError(f"{key} takes {wanted}, not {text!r}.") from None
    if get_origin(hint) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text


def _optional(text: str, may_be_none: bool, parse: Any) -> Any:
    return None if may_be_none and text.strip().lower() in {"", "none", "null"} else parse(text)


def _choice(key: str, text: str, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if _plain(str(choice)) == _plain(text):
            return choice
    raise InspectorError(f"{key} must be one of {', '.join(map(str, choices))}, not {text!r}.")


def _boolean(text: str) -> bool:
    if text.strip().lower() in _TRUE:
        return True
    if text.strip().lower() in _FALSE:
        return False
    raise ValueError(text)
