"""A provider by its name: which dialect it speaks, with which key, at which address."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from inspector.core.errors import InspectorError
from inspector.providers.adapters import AnthropicAdapter, ChatAdapter, Compaction, ProviderAdapter, ResponsesAdapter
from inspector.providers.provider import Provider
from inspector.safety.keys import NO_KEY, URL_KEY, ApiKey, address_trouble, find_key, key_in

Api: TypeAlias = Literal["anthropic", "responses", "chat"]
_ADAPTERS: Mapping[Api, type[ProviderAdapter]] = {
    "anthropic": AnthropicAdapter,
    "responses": ResponsesAdapter,
    "chat": ChatAdapter,
}
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
    api: Api
    key: ApiKey
    base_url: str | None = None

    def open(self, model: str, session: str, compaction: Compaction) -> Provider:
        """A provider; it connects at its first call. `session` = prompt_cache_key, for OpenAI's own dialects."""
        return Provider(_ADAPTERS[self.api](model, self.key, self.base_url, session), self.by, self.key, compaction)


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
    api = (match[1] or next((api for end, api in _ENDPOINTS.items() if url.endswith(end)), "chat")).lower()
    whole = next((end for end, spoken in _ENDPOINTS.items() if spoken == api and url.endswith(end)), "")
    return _at_url(api, url.removesuffix(whole))


def _at_url(api: str, url: str) -> Address:
    try:
        parts = urlsplit(url)
        host = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
    except ValueError:
        host = ""
    if not host or host.startswith(":"):
        raise InspectorError(f"{url} is not a URL that can be called.")
    text = key_in(URL_KEY)
    base, path = url.rstrip("/"), parts.path.rstrip("/")
    if api == "anthropic":
        return Address(host, "anthropic", ApiKey(text or "none"), base.removesuffix("/v1"))
    key = ApiKey(text) if text else NO_KEY
    return Address(host, "responses" if api == "responses" else "chat", key, base + "/v1" * (not path))


def simulated_addresses(url: str, api: Api) -> tuple[Address, Address]:
    """How to talk to a simulated provider at `url`: for calls, and for remote compaction."""
    key = ApiKey("simulated-key")
    base = url if api == "anthropic" else f"{url}/v1"
    return Address(SIMULATED, api, key, base), Address(SIMULATED, "responses", key, f"{url}/v1")


def simulated_api(who: str, model: str) -> Api | None:
    """The dialect of `simulated`, `simulated:chat`, ...; None for anybody else. By the model where it is not said."""
    name, _, api = who.lower().partition(":")
    if name != SIMULATED:
        return None
    match api:
        case "anthropic" | "responses" | "chat":
            return api
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
