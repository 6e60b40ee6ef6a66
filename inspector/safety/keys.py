"""Keys of providers, from the environment or from the system's keyring. Never in a file, a log or an error text.

A key is passed around as an `ApiKey`, which prints nothing of the key. Only the client that sends a key reads its text.
The address of a provider may hold no user name, password, query or fragment, because these are often keys, and
addresses are stored.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from inspector.core.errors import InspectorError

ENVIRONMENT: Mapping[str, str] = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""The environment variable that holds the key of each provider."""
URL_KEY = "CONTEXT_INSPECTOR_API_KEY"
"""The variable with the key for a server that is given by its URL. No other key is ever sent to such a server."""
SERVICE = "context-inspector"
"""The service name of keys in the keyring. The user name is the name of the provider."""
REDACTED = "[key]"

KeyPlace: TypeAlias = Literal["", "environment", "keyring"]


class KeyMissing(InspectorError):
    """There is no key for the provider. The sentence says where to store one."""


class NoKeyring(InspectorError):
    """This machine has no usable keyring, or the keyring refused the request."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A secret. Printing it, or anything that holds it, shows nothing."""

    _text: str = field(repr=False)

    def reveal(self) -> str:
        """Return the text of the key. Only for the client that sends it."""
        return self._text

    def redact(self, text: str) -> str:
        """Return `text` with the key replaced by `REDACTED`, also in its URL-quoted and JSON-escaped spellings."""
        for spelling in {self._text, quote(self._text, safe=""), self._text.replace("/", "\\/")}:
            if spelling:
                text = text.replace(spelling, REDACTED)
        return text


NO_KEY = ApiKey("")


_taken: dict[str, str] = {}


def take_keys() -> None:
    """Move the keys from the environment into memory, so that no process that this program starts inherits them."""
    for variable in (*ENVIRONMENT.values(), URL_KEY):
        if (text := os.environ.pop(variable, None)) is not None:
            _taken[variable] = text


def key_in(variable: str) -> str:
    """Return the value of a variable in the environment, or its value before `take_keys`; empty if there is none."""
    return (os.environ.get(variable) or _taken.get(variable, "")).strip()


def find_key(provider: str) -> ApiKey:
    """Return the key of `anthropic`, `openai` or another server's name. Raises KeyMissing."""
    variable = ENVIRONMENT.get(provider, "")
    if text := key_in(variable):
        return _check_key(text, variable)
    try:
        text = _stored_key(provider)
    except NoKeyring as why:
        raise KeyMissing(
            f"There is no key for {provider}: set {variable or 'it in the keyring'}. ({why})"
        ) from None
    if not text:
        raise KeyMissing(
            f"There is no key for {provider}: set {variable}, or store one in the keyring."
        )
    return _check_key(text, "the keyring")


def key_place(provider: str) -> KeyPlace:
    """Return where the key of a provider is stored; empty if there is no key. May ask the keyring."""
    if key_in(ENVIRONMENT.get(provider, "")):
        return "environment"
    try:
        return "keyring" if _stored_key(provider) else ""
    except NoKeyring:
        return ""


def save_key(provider: str, text: str) -> None:
    """Store a key in the system's keyring. Raises NoKeyring, or InspectorError if the text cannot be a key."""
    key = _check_key(text.strip(), "what was entered")
    if not key.reveal():
        raise InspectorError("An empty key cannot be stored.")
    _ask_keyring("set_password", provider, key.reveal())


def forget_key(provider: str) -> None:
    """Delete the key of a provider from the keyring, if it is stored there. Raises NoKeyring."""
    if _stored_key(provider):
        _ask_keyring("delete_password", provider)


def _check_key(text: str, source: str) -> ApiKey:
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise InspectorError(f"The key in {source} holds characters that no key has.")
    return ApiKey(text)


def _stored_key(provider: str) -> str:
    return str(_ask_keyring("get_password", provider) or "")


def _ask_keyring(what: str, provider: str, *more: str) -> Any:
    """Call a method of the keyring. Raises NoKeyring without the keyring's own message, which may quote the key."""
    from keyring.errors import KeyringError

    keyring = _backend()
    failed = ""
    try:
        return getattr(keyring, what)(SERVICE, provider, *more)
    except (KeyringError, OSError, RuntimeError, ValueError, LookupError) as error:
        failed = type(error).__name__
    raise NoKeyring(f"the keyring of this machine refused: {failed}")


def _backend() -> Any:
    """Return the system's keyring. Raises NoKeyring.

    Backends that store keys in plain files, or that would ask on the terminal, are not used.
    """
    import keyring
    from keyring.backends.chainer import ChainerBackend

    chosen = keyring.get_keyring()
    for backend in chosen.backends if isinstance(chosen, ChainerBackend) else [chosen]:
        if not type(backend).__module__.startswith(
            ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")
        ):
            return backend
    raise NoKeyring("this machine has no keyring that can be used")


_MORE = (
    "The address of a provider holds no user name, password, query (?) or fragment (#): "
    "put a key into the environment or the keyring, not into the URL."
)


def address_trouble(who: str) -> str:
    """Return why a provider's name or URL is refused, as a sentence that does not quote it; empty if it is valid."""
    _, mark, rest = who.partition("://")
    rest = rest if mark else who
    return _MORE if re.search(r"[?#]|^[^/]*@", rest) else ""
