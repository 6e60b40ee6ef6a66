"""Who answers a tier's needs: chosen by name, opened at the first need, closed when done.

offline; simulated (a server of our own, in this process); anthropic; openai; or a URL: `http://...` speaks OpenAI Chat,
`anthropic+http://...` Anthropic Messages, `responses+http://...` OpenAI Responses.
"""

import threading
import weakref
from collections.abc import Callable
from uuid import uuid4

from inspector.core.answering import offline
from inspector.core.buffer import Prompt
from inspector.core.needs import Answer, AskModel, Need, ProviderFailure, RemoteCompact, Summarize
from inspector.providers.adapter import Compaction, OnText
from inspector.providers.opening import (
    SIMULATED,
    Api,
    checked_model,
    find_address,
    simulated_addresses,
    simulated_api,
)
from inspector.providers.provider import Provider
from inspector.simulated.state import SimulatedServerState


class _Offline:
    """The extractive summariser: nobody is called."""

    def answer(self, need: Need, on_text: OnText | None, cancelled: Callable[[], bool]) -> Answer:
        """Raises Failure."""
        return offline(need)

    def close(self) -> None:
        """Nothing is open."""


class _Providers:
    """A provider, and who is asked for remote compaction, where that is somebody else (with another address)."""

    def __init__(
        self, provider: Provider, compactor: Provider | None = None, after: Callable[[], object] = int
    ) -> None:
        self._provider = provider
        self._compactor = compactor or provider
        self._after = after

    def answer(self, need: Need, on_text: OnText | None, cancelled: Callable[[], bool]) -> Answer:
        """Raises Failure, or Cancelled."""
        match need:
            case Summarize():
                return self._provider.summarize(need, cancelled)
            case RemoteCompact():
                return self._compactor.remote_compact(need, cancelled)
            case AskModel():
                return self._provider.ask(need, on_text, cancelled)
        raise ProviderFailure("a model cannot do this: it has no hands", kind="missing")

    def close(self) -> None:
        """Close the connections, then what they lead to."""
        for one in {self._provider, self._compactor}:
            one.close()
        self._after()


class Answering:
    """An answerer that can be stopped and closed. Use as `with answerer("openai", ...) as answer:`."""

    def __init__(self, open_it: Callable[[], _Offline | _Providers]) -> None:
        self._open_it = open_it
        self._opened: _Offline | _Providers | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def __call__(
        self, need: Need, on_text: OnText | None = None, cancelled: Callable[[], bool] | None = None
    ) -> Answer:
        """The answer. Raises Failure, Cancelled, or InspectorError where there is nobody to ask.

        `on_text` is given each bit of an AskModel's text, on another thread.
        """
        self._stopped.clear()
        return self._open().answer(
            need, on_text, lambda: self._stopped.is_set() or (cancelled is not None and cancelled())
        )

    def _open(self) -> _Offline | _Providers:
        with self._lock:
            if self._opened is None:
                self._opened = self._open_it()
                weakref.finalize(self, self._opened.close)
            return self._opened

    def cancel(self) -> None:
        """End the calls that are under way: each raises Cancelled at once. From any thread."""
        self._stopped.set()

    def close(self) -> None:
        """Close what was opened; the next need opens it anew."""
        self._stopped.set()
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def __enter__(self) -> "Answering":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def answerer(
    who: str,
    model: str = "",
    prompt: Prompt | None = None,
    session: str = "",
    compaction: Compaction = "unary",
    world: SimulatedServerState | None = None,
) -> Answering:
    """The answerer of this name. Raises InspectorError for a name, a model or a key that is missing.

    `prompt`: its tools are frozen as they stand, for the calls of an agent. `session`: all calls of one share the
    provider's prompt cache; default a new one. `compaction`: how a remote compact is asked for. `world`: the window and
    the faults of the simulated provider.
    """
    if who == "offline":
        return Answering(_Offline)
    session = session or uuid4().hex
    if (api := simulated_api(who, model)) is not None:
        return Answering(lambda: _simulated(world, api, model or SIMULATED, prompt, session, compaction))
    address = find_address(who)
    name = checked_model(who, model)
    return Answering(lambda: _Providers(_freezing(address.open(name, session, compaction), prompt)))


def _freezing(provider: Provider, prompt: Prompt | None) -> Provider:
    if prompt is not None:
        provider.frozen(prompt)
    return provider


def _simulated(
    world: SimulatedServerState | None,
    api: Api,
    model: str,
    prompt: Prompt | None,
    session: str,
    compaction: Compaction,
) -> _Providers:
    """With the server that it talks to."""
    from inspector.simulated.server import SimulatedServer

    server = SimulatedServer(world).start()
    calls, compacts = simulated_addresses(server.url, api)
    provider = _freezing(calls.open(model, session, compaction), prompt)
    return _Providers(provider, compacts.open(model, session, compaction), server.close)
