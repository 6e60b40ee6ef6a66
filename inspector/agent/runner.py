"""A run with a thread of its own. Everything the person may do to it is a method here; it publishes how it stands.

All methods but `wait` and `close` return at once and may be called from any thread. What they lead to is published by
`publish`, which is called from the run's own threads, never twice at a time.
"""

import threading
from contextlib import suppress
from typing import Any
from uuid import uuid4

from inspector import __version__
from inspector.agent.agent import MAIN, AgentThread, BufferSizer, ThreadEnd
from inspector.agent.controls import Controls, RunStopped
from inspector.agent.journal import Journal
from inspector.agent.plan import Plan
from inspector.agent.run import Models, RunContext, compacts_remotely, model_of, policy_of, window_of
from inspector.agent.status import Breakpoints, Publish, RunStatus, StatusPublisher
from inspector.agent.tooling import open_calls
from inspector.agent.tools.schemas import prompt
from inspector.agent.tools.toolbox import Toolbox
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Message, Text
from inspector.core.needs import Answer
from inspector.core.policies.harness import Policy

_PROGRAM = f"context-inspector {__version__}"
"""Who writes the journal."""


class Runner(Controls):
    """One run, with the controls that a person has over it. `start` it, `close` it when done."""

    def __init__(self, plan: Plan, publish: Publish, breakpoints: Breakpoints | None = None) -> None:
        """Raises InspectorError for a provider, model, policy, setting, workspace or journal that will not do."""
        super().__init__(breakpoints or Breakpoints())
        window = window_of(plan)
        policy, settings = policy_of(plan, window)
        tools, models = Toolbox(plan.workspace), Models(plan, window)
        publisher = StatusPublisher(publish, RunStatus(window=window))
        try:
            self._agent = _begin(plan, policy, settings, window, tools, models, self, publisher)
        except BaseException:
            tools.close()
            models.close()
            raise
        self._run = self._agent.run
        self._thread = threading.Thread(target=self._live, name="run", daemon=True)
        self._over = threading.Event()

    def start(self, paused: bool = False) -> None:
        """Begin; with `paused` it stops before its first model call."""
        if paused:
            self.pause()
        self._thread.start()

    @property
    def status(self) -> RunStatus:
        """How it stands now."""
        return self._run.publisher.status

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the run has ended; False where it has not by then."""
        return self._over.wait(timeout_s)

    def close(self) -> None:
        """Stop it if it still runs, wait for its thread, close what it opened. May be called twice."""
        self.stop()
        if self._thread.ident is None:
            self._close()
        elif self._thread is not threading.current_thread():
            self._thread.join()

    def _live(self) -> None:
        """The thread. However it ends, the journal and the window hear of it."""
        ended = ThreadEnd("error", error="the run broke off by a fault of this program")
        try:
            ended = self._agent.live()
        except RunStopped:
            ended = ThreadEnd("stopped")
        except InspectorError as why:
            ended = ThreadEnd("error", error=str(why))
        finally:
            with suppress(InspectorError):
                self._run.journal.note("end", why=ended.why, error=ended.error)
            self._close()
            try:
                nothing: dict[str, Any] = {"why": "", "asked": None, "need": None, "stop": "", "verdict": None}
                self._agent.publish(state="ended", end=ended.why, error=ended.error, **nothing)
            finally:
                self._over.set()

    def _close(self) -> None:
        self._run.models.close()
        self._run.tools.close()
        self._run.journal.close()


def _first_buffer(plan: Plan, tools: Toolbox) -> Buffer:
    """What the run begins with. Raises InspectorError where nothing says what is to be done."""
    start = plan.start or Buffer((), prompt(tools.folder))
    if not plan.task.strip():
        last = start.messages[-1] if start.messages else None
        if last is None or (last.role == "assistant" and not last.calls):
            raise InspectorError("It is not said what is to be done: give the run a task.")
        return start
    return start.with_messages((*start.messages, Message(f"task-{uuid4().hex[:12]}", "user", (Text(plan.task),))))


def _begin(
    plan: Plan,
    policy: Policy[Any, Any],
    settings: Any,
    window: int | None,
    tools: Toolbox,
    models: Models,
    controls: Controls,
    publisher: StatusPublisher,
) -> AgentThread:
    """The main thread, ready to run. Opens the journal. Raises InspectorError."""
    buffer = _first_buffer(plan, tools)
    models.of(MAIN, buffer.prompt)
    running = policy.fresh(settings) if plan.running is None else plan.running
    journal = Journal(plan.record, new=plan.resumed is None)
    run = RunContext(
        plan, policy, settings, window, controls, publisher, journal, tools, models, {}, compacts_remotely(plan)
    )
    agent = AgentThread(run, MAIN, buffer, running)
    header = _header(plan, policy, window)
    if plan.resumed is None:
        journal.begin({"id": str(uuid4()), **header}, buffer.prompt)
        journal.thread(MAIN, buffer, title=" ".join(plan.task.split())[:80], parent="", parent_call="")
        agent.write_running()
    else:
        held = plan.resumed
        journal.resume(held, header)
        journal.sync(MAIN, buffer.messages)
        agent.turn, agent.begun, agent.sizer = held.turn, frozenset(held.begun), BufferSizer(held.recorded)
        agent.last = Answer(usage=held.usage, finish=held.finish) if held.usage or held.finish else None
        agent.waiting, agent.edited = open_calls(buffer), True  # what no provider takes is mended before it is sent
        agent.write_running()
    return agent


def _header(plan: Plan, policy: Policy[Any, Any], window: int | None) -> dict[str, Any]:
    return {
        "program": _PROGRAM,
        "task": plan.task,
        "workspace": str(plan.workspace.absolute()),
        "provider": plan.provider,
        "model": model_of(plan),
        "policy": plan.policy,
        "policy_name": policy.name,
        "settings": dict(plan.settings),
        "window": window,
        "window_set": plan.window,
        "max_tokens": plan.max_tokens,
        "remote": plan.remote,
        "memory": plan.memory,
        "world": _world_document(plan),
        **({"forked_from": dict(plan.forked_from)} if plan.forked_from is not None else {}),
    }


def _world_document(plan: Plan) -> dict[str, Any] | None:
    """What the journal holds of the simulated provider's world, to make the same again."""
    if (world := plan.world) is None:
        return None
    return {"window": world.window, "pause_s": world.pause_s, "compactions": world.compactions}
