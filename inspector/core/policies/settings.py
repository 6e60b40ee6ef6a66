"""Settings as `KEY=VALUE`: read into the fields of a frozen dataclass, by any spelling the harness uses.

A field's metadata may hold `names` (further spellings), `low`, `high` (inclusive limits), `word` (taken instead of a
number) and `derived` (worked out from the others, nobody sets it).

The window is a setting like the others: a number, or `model`, which is the window of the session's model. A harness
that asks its model for the window has `model` for its default; one with a window of its own keeps that.
"""

from collections.abc import Iterable, Sequence
from dataclasses import Field, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from inspector.core.errors import InspectorError
from inspector.core.words import per_cent


class UnknownSetting(InspectorError):
    """The policy has no setting of that name. The sentence names those that it has."""


S = TypeVar("S")
SettingPairs: TypeAlias = tuple[tuple[str, str], ...]
"""What somebody set, as it was written: name and value. Which values all settings have follows with the window."""
WindowFrom: TypeAlias = Literal["own", "model", "unknown", "set"]
"""Whose window it is: the policy's own; the model's; its own, because the model's is not known; as somebody set it."""
MODEL = "model"
"""What is written instead of a number where the window of the session's model is meant."""
DERIVED = MappingProxyType({"derived": True})
"""Metadata of a field that is worked out."""
WHOSE = {
    "own": "its own",
    "model": "the model's",
    "unknown": "its own, the model's is not known",
    "set": "as set",
}
_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def setting(
    default: Any, what: str, *, names: Sequence[str] = (), low: float | None = None, high: float | None = None
) -> Any:
    """A dataclass field with its meaning, its further names and its hard limits (inclusive)."""
    return field(default=default, metadata={"what": what, "names": tuple(names), "low": low, "high": high})


def window_setting(default: int, *, low: int = 1, high: int | None = None) -> Any:
    """The field of the window. Its dataclass has another one, `window_from`, that says whose it is."""
    names = ("window", "context_window_tokens", "context_window")
    what = f"the window; {MODEL} = that of the session's model"
    return field(default=default, metadata={"what": what, "names": names, "low": low, "high": high, "word": MODEL})


def settable_fields(settings: object) -> tuple[Field[Any], ...]:
    """The fields that somebody may set."""
    return tuple(one for one in fields(settings) if not one.metadata.get("derived"))  # type: ignore[arg-type]


_FIRST = ("window", "ratio", "retain")


def form_fields(settings: object) -> list[Field[Any]]:
    """The same as a form lists them: what one plays with comes first."""
    return sorted(settable_fields(settings), key=lambda one: not any(word in one.name for word in _FIRST))


def has_setting(settings: object, key: str) -> bool:
    """Is this a name of one of the settings, in any spelling?"""
    return plain_name(key) in _names(settings)


def window_pairs(window: int | None) -> SettingPairs:
    """The window that the user says the model has, as a setting: it holds for every policy, but for `--set`."""
    return () if window is None else (("window", str(window)),)


def read_settings(start: S, values: Iterable[tuple[str, str]], window: int | None, *, follows: bool) -> S:
    """`start` with the window it is to have and the given values. Raises InspectorError.

    `window` = that of the session's model, where it is known; `follows`: it is taken unless the values say otherwise.
    """
    return apply_pairs(*take_window(start, values, window, follows=follows))


def take_window(
    start: S, values: Iterable[tuple[str, str]], window: int | None, *, follows: bool
) -> tuple[S, SettingPairs]:
    """As `read`, but of the values only the window is taken; the others are handed back."""
    by_name, values = _names(start), tuple(values)
    name = by_name["window"]
    wanted = [text for key, text in values if by_name.get(plain_name(key)) == name] or [MODEL] * follows
    others = tuple(pair for pair in values if by_name.get(plain_name(pair[0])) != name)
    if not wanted:
        return start, others
    if plain_name(wanted[-1]) != MODEL:
        found = apply_pairs(start, ((name, wanted[-1]),))
        same = not follows and getattr(found, name) == getattr(start, name)
        whose: WindowFrom = "own" if same else "set"
    else:
        found = start if window is None else replace(start, **{name: window})  # type: ignore[type-var]
        whose = "unknown" if window is None else "model"
    return replace(found, window_from=whose), others  # type: ignore[type-var]


def share_of(tokens: int, window: int, whose: WindowFrom) -> str:
    """`75%` for the label of a line. Of a window that is not the gauge's a share says nothing: `48k`."""
    if whose == "own":
        return f"{tokens:,}" if tokens < 1_000 else f"{tokens / 1_000:.0f}k"
    return per_cent(tokens / window)


def describe_window(tokens: int, whose: WindowFrom) -> str:
    """Which window, and why: `64,000, its own`."""
    return f"{tokens:,}, {WHOSE[whose]}"


def apply_pairs(settings: S, values: Iterable[tuple[str, str]]) -> S:
    """`settings` with the given values. Raises InspectorError for an unknown name or an impossible value."""
    by_name = _names(settings)
    hints = get_type_hints(type(settings))
    words = {one.name: one.metadata["word"] for one in settable_fields(settings) if "word" in one.metadata}
    for key, text in values:
        name = by_name.get(plain_name(key))
        if name is None:
            known = ", ".join(one.name for one in settable_fields(settings))
            raise UnknownSetting(f"There is no setting {key!r}. Known: {known}.")
        settings = replace(settings, **{name: _value(key, text, hints[name], words.get(name, ""))})  # type: ignore[type-var]
    return check_limits(settings)


def check_limits(settings: S) -> S:
    """The settings, if every value lies within its field's limits. Raises InspectorError."""
    for one in fields(settings):  # type: ignore[arg-type]
        value, low, high = getattr(settings, one.name), one.metadata.get("low"), one.metadata.get("high")
        if not isinstance(value, int | float):
            continue
        if (low is not None and value < low) or (high is not None and value > high) or value != value:
            bounds = f"at least {low:,}" if high is None else f"between {low or 0:,} and {high:,}"
            raise InspectorError(f"{one.name} must be {bounds}, not {value:,}.")
    return settings


def _names(settings: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in settable_fields(settings):
        for name in (one.name, *one.metadata.get("names", ())):
            found[plain_name(name)] = one.name
    return found


def plain_name(name: str) -> str:
    """Any spelling of a name in one."""
    return "".join(char for char in name.lower() if char.isalnum())


def _value(key: str, text: str, hint: Any, word: str) -> Any:
    if get_origin(hint) is Literal:
        for choice in get_args(hint):
            if plain_name(str(choice)) == plain_name(text):
                return choice
        raise InspectorError(f"{key} must be one of {', '.join(map(str, get_args(hint)))}, not {text!r}.")
    kinds = set(get_args(hint)) or {hint}
    if type(None) in kinds and kinds & {int, float} and text.strip().lower() in {"", "none", "null"}:
        return None
    try:
        if bool in kinds:
            return _WORDS[text.strip().lower()]
        if int in kinds:
            return int(text.replace("_", "").replace(",", ""))
        if float in kinds:
            return float(text)
    except (ValueError, KeyError):
        wanted = "a yes or no" if bool in kinds else "a whole number" if int in kinds else "a number"
        wanted += f" or {word!r}" if word else ""
        raise InspectorError(f"{key} takes {wanted}, not {text!r}.") from None
    if get_origin(hint) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text
