"""Keys of providers: from the environment, or from the system's keyring. Never in a file, a log or an error text.

A key travels as an `ApiKey`, which shows nothing of itself; only the client that sends it asks for its text. A
provider's address is an address and nothing more: what else a URL can hold is often a key, and would be kept.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from inspector.core.errors import InspectorError

ENVIRONMENT: Mapping[str, str] = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""Provider -> the variable that holds its key."""
URL_KEY = "CONTEXT_INSPECTOR_API_KEY"
"""The variable with the key of a server that is named by its URL. No other key is ever sent there."""
SERVICE = "context-inspector"
"""The name under which keys lie in the keyring; the user name is the provider's."""
REDACTED = "[key]"

KeyPlace: TypeAlias = Literal["", "environment", "keyring"]


class KeyMissing(InspectorError):
    """No key for this provider. The sentence says where one can be put."""


class NoKeyring(InspectorError):
    """This machine has no keyring that can be used, or it refused."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A secret. Printing it, or anything that holds it, shows nothing."""

    _text: str = field(repr=False)

    def reveal(self) -> str:
        """The text, for the one who sends it."""
        return self._text

    def redact(self, text: str) -> str:
        """`text` without the key, however it was quoted."""
        for spelling in {self._text, quote(self._text, safe=""), self._text.replace("/", "\\/")}:
            if spelling:
                text = text.replace(spelling, REDACTED)
        return text


NO_KEY = ApiKey("")


_taken: dict[str, str] = {}


def take_keys() -> None:
    """Take the keys out of the environment: no process that we start has them, no later look into it shows them."""
    for variable in (*ENVIRONMENT.values(), URL_KEY):
        if (text := os.environ.pop(variable, None)) is not None:
            _taken[variable] = text


def key_in(variable: str) -> str:
    """What the environment says, or said when the program began; empty for nothing."""
    return (os.environ.get(variable) or _taken.get(variable, "")).strip()


def find_key(provider: str) -> ApiKey:
    """The key of `anthropic`, `openai` or another server's name. Raises KeyMissing."""
    variable = ENVIRONMENT.get(provider, "")
    if text := key_in(variable):
        return _checked(text, variable)
    try:
        text = _stored(provider)
    except NoKeyring as why:
        raise KeyMissing(
            f"There is no key for {provider}: set {variable or 'it in the keyring'}. ({why})"
        ) from None
    if not text:
        raise KeyMissing(
            f"There is no key for {provider}: set {variable}, or store one in the keyring."
        )
    return _checked(text, "the keyring")


def key_place(provider: str) -> KeyPlace:
    """Where the key of a provider lies; empty where there is none. Asks the keyring, never shows the key."""
    if key_in(ENVIRONMENT.get(provider, "")):
        return "environment"
    try:
        return "keyring" if _stored(provider) else ""
    except NoKeyring:
        return ""


def save_key(provider: str, text: str) -> None:
    """Put a key into the system's keyring. Raises NoKeyring, or InspectorError for a text that is no key."""
    key = _checked(text.strip(), "what was entered")
    if not key.reveal():
        raise InspectorError("An empty key cannot be stored.")
    _asked("set_password", provider, key.reveal())


def forget_key(provider: str) -> None:
    """Take the key out of the keyring; nothing happens where there is none. Raises NoKeyring."""
    if _stored(provider):
        _asked("delete_password", provider)


def _checked(text: str, source: str) -> ApiKey:
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise InspectorError(f"The key in {source} holds characters that no key has.")
    return ApiKey(text)


def _stored(provider: str) -> str:
    return str(_asked("get_password", provider) or "")


def _asked(what: str, provider: str, *more: str) -> Any:
    """One question to the keyring. Its own errors may quote what they were given: they are not passed on."""
    from keyring.errors import KeyringError

    keyring, failed = _backend(), ""
    try:
        return getattr(keyring, what)(SERVICE, provider, *more)
    except (KeyringError, OSError, RuntimeError, ValueError, LookupError) as error:
        failed = type(error).__name__
    raise NoKeyring(f"the keyring of this machine refused: {failed}")


def _backend() -> Any:
    """The system's keyring. Files that only look like one, and those that would ask on the terminal, are none."""
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
    """Why a provider's name or URL will not do, in one sentence that does not repeat it; empty for nothing."""
    _, mark, rest = who.partition("://")
    rest = rest if mark else who
    return _MORE if re.search(r"[?#]|^[^/]*@", rest) else ""
