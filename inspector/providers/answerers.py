"""Answerers of a tier's needs: chosen by name, opened at the first need, closed when done.

The names are: offline; simulated (a server in this process); anthropic; openai; or a URL. `http://...` uses OpenAI
Chat, `anthropic+http://...` Anthropic Messages, `responses+http://...` OpenAI Responses.
"""

import re
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias
from urllib.parse import urlsplit
from uuid import uuid4

from inspector.core.answering import offline
from inspector.core.buffer import Prompt
from inspector.core.errors import InspectorError
from inspector.core.needs import Answer, Need, RemoteCompact
from inspector.providers.adapters import (
    AnthropicAdapter,
    ChatAdapter,
    OnText,
    ProviderAdapter,
    ResponsesAdapter,
)
from inspector.providers.provider import Provider
from inspector.safety.keys import NO_KEY, URL_KEY, ApiKey, address_trouble, find_key, key_in
from inspector.simulated.state import SimulatedServerState

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
"""Ends of URLs that include a dialect's endpoint, as many users write them."""
_OTHERS = {
    "anthropic": re.compile(r"(?:gpt|chatgpt|codex|o\d)\b"),
    "openai": re.compile(r"claude\b"),
}
"""Matches models that a provider certainly lacks: a session's model belongs to one provider."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address and dialect of a provider. `base_url` None means the provider's own URL."""

    by: str
    api: Api
    key: ApiKey
    base_url: str | None = None

    def open(self, model: str, session: str) -> Provider:
        """Return a provider, which connects at its first call. `session` is the prompt_cache_key of OpenAI's own
        dialects.
        """
        return Provider(
            _ADAPTERS[self.api](model, self.key, self.base_url, session), self.by, self.key
        )


def find_address(who: str) -> Address:
    """Return the address for `anthropic`, `openai`, `openai:chat` or a URL.

    Raises InspectorError for an unknown name, and KeyMissing.
    """
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
        raise InspectorError(f"Unknown answerer {who!r}: use one of {KNOWN}.")
    url = match[2].rstrip("/")
    api = (
        match[1] or next((api for end, api in _ENDPOINTS.items() if url.endswith(end)), "chat")
    ).lower()
    whole = next(
        (end for end, spoken in _ENDPOINTS.items() if spoken == api and url.endswith(end)), ""
    )
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
    base = url.rstrip("/")
    path = parts.path.rstrip("/")
    if api == "anthropic":
        return Address(
            host, api="anthropic", key=ApiKey(text or "none"), base_url=base.removesuffix("/v1")
        )
    key = ApiKey(text) if text else NO_KEY
    return Address(
        host,
        api="responses" if api == "responses" else "chat",
        key=key,
        base_url=base + "/v1" * (not path),
    )


def simulated_addresses(url: str, api: Api) -> tuple[Address, Address]:
    """Return two addresses of a simulated provider at `url`: for calls, and for remote compaction."""
    key = ApiKey("simulated-key")
    base = url if api == "anthropic" else f"{url}/v1"
    return Address(SIMULATED, api, key, base), Address(
        SIMULATED, api="responses", key=key, base_url=f"{url}/v1"
    )


def simulated_api(who: str, model: str) -> Api | None:
    """Return the dialect of `simulated`, `simulated:chat`, ...; None for any other name.

    Without a given dialect, the model decides.
    """
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
    raise InspectorError(
        f"There is no answerer {who!r}; simulated speaks anthropic, responses or chat."
    )


def checked_model(who: str, model: str) -> str:
    """Return the model if it can belong to this provider. Raises InspectorError that asks for a model otherwise."""
    if not model:
        raise InspectorError(f"No model of {who} is chosen: name one with --model.")
    other = _OTHERS.get(who.lower().partition(":")[0])
    if other is not None and other.match(model.lower()):
        raise InspectorError(f"{model} is no model of {who}: name one with --model.")
    return model


Ask: TypeAlias = Callable[[Need, OnText | None, Callable[[], bool]], Answer]


class Answering:
    """An answerer that can be stopped and closed. Use as `with answerer("openai", ...) as answer:`."""

    def __init__(self, open_it: Callable[[ExitStack], Ask]) -> None:
        """`open_it` opens the answerer, and registers everything that must be closed on the stack it is given."""
        self._open_it = open_it
        self._opened: tuple[Ask, ExitStack] | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def __call__(
        self, need: Need, on_text: OnText | None = None, cancelled: Callable[[], bool] | None = None
    ) -> Answer:
        """Return the answer. `on_text` receives each piece of an AskModel's text, in another thread.

        Raises Failure, Cancelled, or InspectorError if there is no model to ask.
        """
        self._stopped.clear()
        with self._lock:
            if self._opened is None:
                with ExitStack() as stack:
                    self._opened = self._open_it(stack), stack.pop_all()
                weakref.finalize(self, self._opened[1].close)
            ask, _ = self._opened
        return ask(
            need, on_text, lambda: self._stopped.is_set() or (cancelled is not None and cancelled())
        )

    def cancel(self) -> None:
        """Cancel the current calls: each raises Cancelled at once. May be called from any thread."""
        self._stopped.set()

    def close(self) -> None:
        """Close what was opened; the next need opens it again."""
        self._stopped.set()
        with self._lock:
            opened = self._opened
            self._opened = None
        if opened is not None:
            opened[1].close()

    def __enter__(self) -> "Answering":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def answerer(
    who: str,
    model: str = "",
    prompt: Prompt | None = None,
    session: str = "",
    world: SimulatedServerState | None = None,
) -> Answering:
    """Return the answerer with this name. Raises InspectorError for an unknown name or model, or a missing key.

    Args:
        who: Name of the answerer.
        model: Name of the model.
        prompt: The prompt of an agent, whose tools are frozen for all its calls.
        session: Calls of one session share the provider's prompt cache; empty means a new session.
        world: The window and the faults of the simulated provider.
    """
    if who == "offline":
        return Answering(lambda stack: lambda need, on_text, cancelled: offline(need))
    session = session or uuid4().hex

    def open_at(stack: ExitStack, address: Address, model: str) -> Provider:
        provider = stack.enter_context(closing(address.open(model, session)))
        if prompt is not None:
            provider.frozen(prompt)
        return provider

    if (api := simulated_api(who, model)) is not None:
        return Answering(
            lambda stack: _simulated(
                world, api, open_at=partial(open_at, stack, model=model or SIMULATED), stack=stack
            )
        )
    address = find_address(who)
    name = checked_model(who, model)
    return Answering(lambda stack: open_at(stack, address, name).answer)


def _simulated(
    world: SimulatedServerState | None,
    api: Api,
    open_at: Callable[[Address], Provider],
    stack: ExitStack,
) -> Ask:
    """Start a simulated server and return a function that answers needs with it."""
    from inspector.simulated.server import SimulatedServer

    server = stack.enter_context(SimulatedServer(world))
    provider, compactor = map(open_at, simulated_addresses(server.url, api))

    def ask(need: Need, on_text: OnText | None, cancelled: Callable[[], bool]) -> Answer:
        return (compactor if isinstance(need, RemoteCompact) else provider).answer(
            need, on_text, cancelled
        )

    return ask
