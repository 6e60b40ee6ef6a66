"""A provider by its name: which dialect it speaks, with which key, at which address."""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from inspector.core.errors import InspectorError
from inspector.providers.anthropic import AnthropicDialect
from inspector.providers.dialect import Compaction, Dialect
from inspector.providers.openai_chat import ChatDialect
from inspector.providers.openai_responses import ResponsesDialect
from inspector.providers.provider import Provider
from inspector.safety.addresses import address_trouble
from inspector.safety.keys import NO_KEY, URL_KEY, Key, find_key, key_in

Wire: TypeAlias = Literal["anthropic", "responses", "chat"]
KNOWN = "offline, simulated, anthropic, openai, or a URL"
SIMULATED = "simulated"

_URL = re.compile(r"(?:(anthropic|responses|chat)\+)?(https?://.+)", re.IGNORECASE)
_ENDPOINTS = {"/chat/completions": "chat", "/v1/messages": "anthropic", "/responses": "responses"}
"""Ends of a URL that names a dialect's endpoint whole, as many write it."""
_OTHERS = {"anthropic": re.compile(r"(?:gpt|chatgpt|codex|o\d)\b"), "openai": re.compile(r"claude\b")}
"""Models that a provider certainly does not have: a session's model is somebody's, not everybody's."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a provider is and how it is spoken to. `base_url` None = the provider's own."""

    by: str
    wire: Wire
    key: Key
    base_url: str | None = None

    def open(self, model: str, session: str, compaction: Compaction) -> Provider:
        """A provider; it connects at its first call. `session` = prompt_cache_key, for OpenAI's own dialects."""
        return Provider(self._dialect(model, session), self.by, self.key, compaction)

    def _dialect(self, model: str, session: str) -> Dialect:
        match self.wire:
            case "anthropic":
                return AnthropicDialect(model, self.key, self.base_url)
            case "responses":
                return ResponsesDialect(model, self.key, self.base_url, session)
            case "chat":
                return ChatDialect(model, self.key, self.base_url, "" if self.base_url else session)


def find_address(who: str) -> Address:
    """`anthropic`, `openai`, `openai:chat`, or a URL. Raises InspectorError (KeyMissing, an unknown name)."""
    match who.lower():
        case "anthropic":
            return Address("anthropic", "anthropic", find_key("anthropic"))
        case "openai" | "openai:responses":
            return Address("openai", "responses", find_key("openai"))
        case "openai:chat":
            return Address("openai", "chat", find_key("openai"))
    if trouble := address_trouble(who.strip()):
        raise InspectorError(trouble)
    if (match := _URL.fullmatch(who.strip())) is None:
        raise InspectorError(f"There is no answerer {who!r}; it is one of {KNOWN}.")
    url = match[2].rstrip("/")
    wire = (match[1] or next((wire for end, wire in _ENDPOINTS.items() if url.endswith(end)), "chat")).lower()
    whole = next((end for end, spoken in _ENDPOINTS.items() if spoken == wire and url.endswith(end)), "")
    return _at_url(wire, url.removesuffix(whole))


def _at_url(wire: str, url: str) -> Address:
    try:
        parts = urlsplit(url)
        host = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
    except ValueError:
        host = ""
    if not host or host.startswith(":"):
        raise InspectorError(f"{url} is not a URL that can be called.")
    text = key_in(URL_KEY)
    base, path = url.rstrip("/"), parts.path.rstrip("/")
    if wire == "anthropic":
        return Address(host, "anthropic", Key(text or "none"), base.removesuffix("/v1"))
    return Address(
        host, "responses" if wire == "responses" else "chat", Key(text) if text else NO_KEY, base + "/v1" * (not path)
    )


def simulated_addresses(url: str, wire: Wire) -> tuple[Address, Address]:
    """How to talk to a simulated provider at `url`: for calls, and for remote compaction."""
    key = Key("simulated-key")
    base = url if wire == "anthropic" else f"{url}/v1"
    return Address(SIMULATED, wire, key, base), Address(SIMULATED, "responses", key, f"{url}/v1")


def simulated_wire(who: str, model: str) -> Wire | None:
    """The dialect of `simulated`, `simulated:chat`, ...; None for anybody else. By the model where it is not said."""
    name, _, wire = who.lower().partition(":")
    if name != SIMULATED:
        return None
    match wire:
        case "anthropic" | "responses" | "chat":
            return wire
        case "openai":
            return "responses"
        case "":
            return "responses" if _OTHERS["anthropic"].match(model.lower()) else "anthropic"
    raise InspectorError(f"There is no answerer {who!r}; simulated speaks anthropic, responses or chat.")


def checked_model(who: str, model: str) -> str:
    """The model, if it can be this provider's. Raises InspectorError that asks for one."""
    if not model:
        raise InspectorError(f"It is not known which model of {who} is meant: name one with --model.")
    other = _OTHERS.get(who.lower().partition(":")[0])
    if other is not None and other.match(model.lower()):
        raise InspectorError(f"{model} is no model of {who}: name one with --model.")
    return model
