"""Who answers a tier's needs: chosen by name, opened at the first need, closed when done.

offline; simulated (a server of our own, in this process); anthropic; openai; or a URL: `http://...` speaks OpenAI Chat,
`anthropic+http://...` Anthropic Messages, `responses+http://...` OpenAI Responses.
"""

import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from typing import TypeAlias
from uuid import uuid4

from inspector.core.answering import offline
from inspector.core.buffer import Prompt
from inspector.core.needs import Answer, Need, RemoteCompact
from inspector.providers.adapters import Compaction, OnText
from inspector.providers.opening import (
    SIMULATED,
    Address,
    Api,
    checked_model,
    find_address,
    simulated_addresses,
    simulated_api,
)
from inspector.providers.provider import Provider
from inspector.simulated.state import SimulatedServerState

Ask: TypeAlias = Callable[[Need, OnText | None, Callable[[], bool]], Answer]


class Answering:
    """An answerer that can be stopped and closed. Use as `with answerer("openai", ...) as answer:`."""

    def __init__(self, open_it: Callable[[ExitStack], Ask]) -> None:
        """`open_it` is given what closes all that it opens."""
        self._open_it = open_it
        self._opened: tuple[Ask, ExitStack] | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def __call__(
        self, need: Need, on_text: OnText | None = None, cancelled: Callable[[], bool] | None = None
    ) -> Answer:
        """The answer. Raises Failure, Cancelled, or InspectorError where there is nobody to ask.

        `on_text` is given each bit of an AskModel's text, on another thread.
        """
        self._stopped.clear()
        with self._lock:
            if self._opened is None:
                with ExitStack() as stack:
                    self._opened = self._open_it(stack), stack.pop_all()
                weakref.finalize(self, self._opened[1].close)
            ask, _ = self._opened
        return ask(need, on_text, lambda: self._stopped.is_set() or (cancelled is not None and cancelled()))

    def cancel(self) -> None:
        """End the calls that are under way: each raises Cancelled at once. From any thread."""
        self._stopped.set()

    def close(self) -> None:
        """Close what was opened; the next need opens it anew."""
        self._stopped.set()
        with self._lock:
            opened, self._opened = self._opened, None
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
    compaction: Compaction = "unary",
    world: SimulatedServerState | None = None,
) -> Answering:
    """The answerer of this name. Raises InspectorError for a name, a model or a key that is missing.

    `prompt`: its tools are frozen as they stand, for the calls of an agent. `session`: all calls of one share the
    provider's prompt cache; default a new one. `compaction`: how a remote compact is asked for. `world`: the window and
    the faults of the simulated provider.
    """
    if who == "offline":
        return Answering(lambda stack: lambda need, on_text, cancelled: offline(need))
    session = session or uuid4().hex

    def open_at(stack: ExitStack, address: Address, model: str) -> Provider:
        provider = stack.enter_context(closing(address.open(model, session, compaction)))
        if prompt is not None:
            provider.frozen(prompt)
        return provider

    if (api := simulated_api(who, model)) is not None:
        return Answering(lambda stack: _simulated(world, api, partial(open_at, stack, model=model or SIMULATED), stack))
    address = find_address(who)
    name = checked_model(who, model)
    return Answering(lambda stack: open_at(stack, address, name).answer)


def _simulated(
    world: SimulatedServerState | None, api: Api, open_at: Callable[[Address], Provider], stack: ExitStack
) -> Ask:
    """With the server that it talks to; it compacts at an address of its own."""
    from inspector.simulated.server import SimulatedServer

    server = stack.enter_context(SimulatedServer(world))
    provider, compactor = map(open_at, simulated_addresses(server.url, api))

    def ask(need: Need, on_text: OnText | None, cancelled: Callable[[], bool]) -> Answer:
        return (compactor if isinstance(need, RemoteCompact) else provider).answer(need, on_text, cancelled)

    return ask
