"""Look up a model by its name in the price catalogue, a library, and in our own table.

Names are matched as written, then without the parts that a client or a cloud adds to them; never by similarity. A model
that neither table has is unknown.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from inspector.core.errors import InspectorError
from inspector.core.heavy import load_module
from inspector.core.usage import FIVE_MINUTES_S, HOUR_S
from inspector.resources import resource

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

_CLIENT_SUFFIX = re.compile(r"\[[^\]]*\]$")
"""Claude Code writes `[1m]` after a model for its million-token window."""
_CLOUD = re.compile(r"^(?:[a-z]{2,6}\.)?(?:anthropic|openai|meta|mistral|amazon|deepseek)\.")
_CLOUD_VERSION = re.compile(r"-v\d+(?::\d+)?$")
_ANY = "*"
"""In a client's list, the entry for every model that the list does not name."""
USUAL_WINDOWS = (128_000, 200_000, 400_000, 1_000_000, 2_000_000)


class BadModelTable(InspectorError):
    """A table of models cannot be read. The sentence says where and why."""


def spellings(name: str) -> list[str]:
    """Return the name as written, then without the suffix in brackets, the provider's path and the cloud's prefix."""
    written = name.strip().lower()
    bare = _CLIENT_SUFFIX.sub("", written)
    _, _, without_path = bare.rpartition("/")
    without_cloud = _CLOUD_VERSION.sub("", _CLOUD.sub("", without_path))
    without_date, _, _ = without_cloud.partition("@")
    distinct = dict.fromkeys((written, bare, without_path, without_cloud, without_date))
    return [spelling for spelling in distinct if spelling]


@cache
def priced_model(name: str) -> "tuple[Provider, ModelInfo] | None":
    """Return (provider, model) of the price catalogue, which is imported at first use; None if it lacks the name."""
    load_module("genai_prices")
    from genai_prices.data_snapshot import get_snapshot

    for spelling in spellings(name):
        try:
            return get_snapshot().find_provider_model(spelling, None, None, None)
        except LookupError:
            continue
    return None


def catalogue_window(name: str, own: Mapping[str, int] | None = None) -> int | None:
    """Return the tokens of a model's window; None if unknown. `own`: the user's table, which is searched first."""
    for table in (own or {}, shipped_windows()):
        window = own_window(name, table)
        if window is not None:
            return window
    priced = priced_model(name) if name else None
    if priced is None:
        return None
    _, model = priced
    return model.context_window


def client_window(
    client: str, name: str, own: Mapping[str, int] | None = None
) -> tuple[int, str] | None:
    """Return (tokens, source) of the window that a client assumes for a model; None if it uses the model's window.

    The result is also None for a model in `own`, the user's table, because that table has priority.
    """
    if client not in shipped_clients() or not name or own_window(name, own or {}) is not None:
        return None
    source, windows = shipped_clients()[client]
    window = own_window(name, windows)
    if window is None and (window := windows.get(_ANY)) is not None:
        window = min(window, catalogue_window(name) or window)
    return None if window is None else (window, source)


def own_window(name: str, table: Mapping[str, int]) -> int | None:
    """Return the tokens of a model's window in a table, by any spelling of its name; None if it is not in the table."""
    return next((table[spelling] for spelling in spellings(name) if spelling in table), None)


_KEPT: Sequence[tuple[re.Pattern[str], int, str]] = (
    (re.compile(r"gpt-5\.5(?!\d)"), 24 * HOUR_S, "is documented to be kept for up to 24 hours"),
    (
        re.compile(r"gpt-(?:5\.(?:[6-9]|\d\d)|[6-9])"),
        HOUR_S // 2,
        "is documented to be kept for at least 30 minutes",
    ),
    (re.compile(""), FIVE_MINUTES_S, "is usually kept for 5 to 10 minutes"),
)


def cache_life(name: str) -> tuple[int, str]:
    """Return (seconds, a clause) of the lifetime of a cache that the provider manages, as OpenAI documents it."""
    return next((lives, words) for models, lives, words in _KEPT if models.search(name))


@cache
def offered_windows(name: str) -> tuple[int, ...]:
    """Return the window sizes that the model's provider offers, smallest first; the usual sizes if they are unknown."""
    priced = priced_model(name) if name else None
    if priced is None:
        return tuple(sorted(USUAL_WINDOWS))
    provider, _ = priced
    sizes = {model.context_window for model in provider.models if model.context_window}
    return tuple(sorted(sizes))


@cache
def shipped_windows() -> Mapping[str, int]:
    """Return the table of windows that ships with the program."""
    return read_windows(resource("models.toml").read_text("utf-8"))


@cache
def shipped_clients() -> Mapping[str, tuple[str, Mapping[str, int]]]:
    """Return (source, window by model) of each client that does not use the model's own window."""
    clients = tomllib.loads(resource("models.toml").read_text("utf-8"))["clients"]
    return {client: (entry["source"], entry["windows"]) for client, entry in clients.items()}


def read_windows(text: str) -> Mapping[str, int]:
    """Read a table in the form of `resources/models.toml`: window by model name. Raises BadModelTable."""
    try:
        models = tomllib.loads(text).get("models", {})
    except tomllib.TOMLDecodeError as error:
        raise BadModelTable(f"The table of models is not valid TOML: {error}.") from None
    if not isinstance(models, dict):
        raise BadModelTable("The table of models needs a section for each model.")
    windows: dict[str, int] = {}
    for name, model in models.items():
        window = model.get("window") if isinstance(model, dict) else None
        if type(window) is not int or window <= 0:
            example = f'[models."{name}"] window = 200000'
            raise BadModelTable(f"The table of models needs a number of tokens, as in: {example}.")
        windows[name.lower()] = window
    return windows
