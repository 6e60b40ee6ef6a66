"""Read `KEY=VALUE` settings into the fields of a frozen dataclass, in any spelling that the harness uses.

The metadata of a field may have `names` (further spellings), `low` and `high` (inclusive limits), `word` (accepted
instead of a number) and `derived` (computed from other fields, cannot be set).

The window is also a setting: a number, or `model` for the window of the session's model. The default is `model` if the
harness uses the window of its model, and the harness's own window if not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from inspector.core.errors import InspectorError
from inspector.core.words import per_cent


class UnknownSetting(InspectorError):
    """The policy has no setting of this name. The message lists the settings that exist."""


S = TypeVar("S")
SettingPairs: TypeAlias = tuple[tuple[str, str], ...]
"""(name, value) of each explicitly set setting, as text. Defaults are left out, because they depend on the window."""
WindowFrom: TypeAlias = Literal["own", "model", "unknown", "set"]
"""Source of the window: own: the policy; model: the model; unknown: the policy, as the model's is unknown; set: a
setting."""
MODEL = "model"
"""Value of a window setting that selects the window of the session's model."""
DERIVED = MappingProxyType({"derived": True})
"""Metadata of a field that is computed from others and cannot be set."""
WHOSE = {
    "own": "its own",
    "model": "the model's",
    "unknown": "its own because the model's is unknown",
    "set": "as set",
}
_WORDS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


def setting(
    default: Any,
    what: str,
    *,
    names: Sequence[str] = (),
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """Return a dataclass field with a description, further names and inclusive hard limits."""
    return field(
        default=default, metadata={"what": what, "names": tuple(names), "low": low, "high": high}
    )


def window_setting(default: int, *, low: int = 1, high: int | None = None) -> Any:
    """Return the field of the window. The dataclass also needs a field `window_from` for its source."""
    names = ("window", "context_window_tokens", "context_window")
    what = f"the window; {MODEL} = that of the session's model"
    return field(
        default=default,
        metadata={"what": what, "names": names, "low": low, "high": high, "word": MODEL},
    )


@dataclass(frozen=True, slots=True)
class _SettingsType:
    """Data that all instances of a settings class share."""

    settable: tuple[Field[Any], ...]
    by_spelling: Mapping[str, str]
    """Names of fields by plain spelling."""
    hints: Mapping[str, Any]
    """Types of fields by name."""


_TYPES: WeakKeyDictionary[type, _SettingsType] = WeakKeyDictionary()
"""Cached, because a replay reads settings at every request, about a thousand times a second."""


def _type_of(settings: object) -> _SettingsType:
    settings_type = _TYPES.get(type(settings))
    if settings_type is None:
        settings_type = _TYPES[type(settings)] = _read_type(type(settings))
    return settings_type


def _read_type(kind: type[Any]) -> _SettingsType:
    settable = tuple(option for option in fields(kind) if not option.metadata.get("derived"))
    by_spelling = {
        plain_name(name): option.name
        for option in settable
        for name in (option.name, *option.metadata.get("names", ()))
    }
    return _SettingsType(settable, by_spelling, get_type_hints(kind))


def settable_fields(settings: object) -> tuple[Field[Any], ...]:
    """Return the fields that can be set."""
    return _type_of(settings).settable


_FIRST = ("window", "ratio", "retain")


def form_fields(settings: object) -> list[Field[Any]]:
    """Return the fields in the order of the settings form, with the most frequently changed settings first."""
    return sorted(
        settable_fields(settings),
        key=lambda option: not any(word in option.name for word in _FIRST),
    )


def has_setting(settings: object, key: str) -> bool:
    """Is this the name of a setting, in any spelling?"""
    return plain_name(key) in _type_of(settings).by_spelling


def window_pairs(window: int | None) -> SettingPairs:
    """Return the window that the user set as a setting for every policy, which `--set` may override."""
    return () if window is None else (("window", str(window)),)


def read_settings(
    start: S, values: Iterable[tuple[str, str]], window: int | None, *, follows: bool
) -> S:
    """Return `start` with the applicable window and the given values.

    Args:
        window: Window of the session's model in tokens; None if unknown.
        follows: True if the model's window is the default.

    Raises:
        InspectorError: A name is unknown, or a value is impossible.
    """
    with_window, others = take_window(start, values, window, follows=follows)
    return apply_pairs(with_window, others)


def take_window(
    start: S, values: Iterable[tuple[str, str]], window: int | None, *, follows: bool
) -> tuple[S, SettingPairs]:
    """Return (`start` with the applicable window, the values of other settings). Arguments as in `read_settings`."""
    by_spelling = _type_of(start).by_spelling
    name = by_spelling["window"]
    windows = list[str]()
    other_values = list[tuple[str, str]]()
    for key, text in values:
        if by_spelling.get(plain_name(key)) == name:
            windows.append(text)
        else:
            other_values.append((key, text))
    others = tuple(other_values)
    if not windows and not follows:
        return start, others
    chosen = windows[-1] if windows else MODEL
    if plain_name(chosen) != MODEL:
        settings = apply_pairs(start, ((name, chosen),))
        is_same = not follows and getattr(settings, name) == getattr(start, name)
        window_from: WindowFrom = "own" if is_same else "set"
    elif window is None:
        settings = start
        window_from = "unknown"
    else:
        settings = replace(start, **{name: window})  # type: ignore[type-var]
        window_from = "model"
    return replace(settings, window_from=window_from), others  # type: ignore[type-var]


def share_of(tokens: int, window: int, window_from: WindowFrom) -> str:
    """Return the label of a watermark: `75%`, or `48k` if the window is the policy's own, not that of the gauge."""
    if window_from == "own":
        return f"{tokens:,}" if tokens < 1_000 else f"{tokens / 1_000:.0f}k"
    return per_cent(tokens / window)


def describe_window(tokens: int, window_from: WindowFrom) -> str:
    """Describe the window with its source: `64,000, its own`."""
    return f"{tokens:,}, {WHOSE[window_from]}"


def apply_pairs(settings: S, values: Iterable[tuple[str, str]]) -> S:
    """Return `settings` with the given values. Raises InspectorError for an unknown name or an impossible value."""
    kind = _type_of(settings)
    words = {option.name: option.metadata.get("word", "") for option in kind.settable}
    for key, text in values:
        name = kind.by_spelling.get(plain_name(key))
        if name is None:
            names = ", ".join(option.name for option in kind.settable)
            raise UnknownSetting(f"There is no setting {key!r}. Known: {names}.")
        value = _parse_value(key, text, kind.hints[name], words[name])
        settings = replace(settings, **{name: value})  # type: ignore[type-var]
    return check_limits(settings)


def check_limits(settings: S) -> S:
    """Return the settings if every value is within its field's limits. Raises InspectorError."""
    for option in fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, option.name)
        low = option.metadata.get("low")
        high = option.metadata.get("high")
        if not isinstance(value, int | float):
            continue
        is_too_low = low is not None and value < low
        is_too_high = high is not None and value > high
        if is_too_low or is_too_high or value != value:  # NaN differs from itself
            bounds = f"at least {low:,}" if high is None else f"between {low or 0:,} and {high:,}"
            raise InspectorError(f"{option.name} must be {bounds}, not {value:,}.")
    return settings


def plain_name(name: str) -> str:
    """Return a name in lower case without separators, which is equal for all its spellings."""
    return "".join(char for char in name.lower() if char.isalnum())


def _parse_value(key: str, text: str, hint: Any, word: str) -> Any:
    """Convert the text to the type of its field. `word`: a word that the field accepts, for the error message."""
    if get_origin(hint) is Literal:
        return _parse_choice(key, text, get_args(hint))
    if get_origin(hint) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    kinds = set(get_args(hint)) or {hint}
    if (
        type(None) in kinds
        and kinds & {int, float}
        and text.strip().lower() in {"", "none", "null"}
    ):
        return None
    for kind, (parse, what) in _PARSERS.items():
        if kind in kinds:
            try:
                return parse(text)
            except (ValueError, KeyError):
                expected = f"{what} or {word!r}" if word else what
                raise InspectorError(f"{key} takes {expected}, not {text!r}.") from None
    return text


def _parse_choice(key: str, text: str, choices: Sequence[Any]) -> Any:
    for choice in choices:
        if plain_name(str(choice)) == plain_name(text):
            return choice
    raise InspectorError(f"{key} must be one of {', '.join(map(str, choices))}, not {text!r}.")


_PARSERS: Mapping[type, tuple[Callable[[str], Any], str]] = {
    bool: (lambda text: _WORDS[text.strip().lower()], "a yes or no"),
    int: (lambda text: int(text.replace("_", "").replace(",", "")), "a whole number"),
    float: (float, "a number"),
}
"""(parser, phrase for the error message) by type. The first type that fits a field is used."""
