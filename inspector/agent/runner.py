"""A run in a separate thread. The user's actions are methods of the runner; it publishes its status.

All methods except `wait` and `close` return at once and may be called from any thread. Their effects are reported
through `publish`, which is called from the run's own threads, one call at a time.
"""

import threading
from contextlib import suppress
from typing import Any
from uuid import uuid4

from inspector import __version__
from inspector.agent.agent import AgentThread, BufferSizer, ThreadEnd
from inspector.agent.asking import open_calls
from inspector.agent.plan import Plan
from inspector.agent.run import MAIN, Run, plan_model
from inspector.agent.status import Breakpoints, Publish, RunStatus, RunStopped
from inspector.core.errors import InspectorError
from inspector.core.needs import Answer
from inspector.core.policies.harness import Policy


class Runner(Run):
    """A run in a separate thread. `start` it, and `close` it when done."""

    def __init__(
        self, plan: Plan, publish: Publish, breakpoints: Breakpoints | None = None
    ) -> None:
        """Raises InspectorError for an unusable provider, model, policy, setting, workspace or journal."""
        super().__init__(plan, publish, breakpoints or Breakpoints())
        try:
            self._agent = _main_thread(self)
        except BaseException:
            self.opened.close()
            raise
        self._thread = threading.Thread(target=self._run_to_end, name="run", daemon=True)
        self._over = threading.Event()

    def start(self, paused: bool = False) -> None:
        """Start the run; with `paused` it pauses before its first model call."""
        if paused:
            self.pause()
        self._thread.start()

    @property
    def status(self) -> RunStatus:
        return self.publisher.status

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the run has ended, for at most `timeout_s` seconds. Return whether it has ended."""
        return self._over.wait(timeout_s)

    def close(self) -> None:
        """Stop the run if it is still going, wait for its thread, and close what it opened. May be called twice."""
        self.stop()
        if self._thread.ident is None:
            self.opened.close()
        elif self._thread is not threading.current_thread():
            self._thread.join()

    def _run_to_end(self) -> None:
        """Run the thread. However it ends, the end is recorded in the journal and published."""
        ended = ThreadEnd("error", error="an internal error of this program ended the run")
        try:
            ended = self._agent.live()
        except RunStopped:
            ended = ThreadEnd("stopped")
        except InspectorError as why:
            ended = ThreadEnd("error", error=str(why))
        finally:
            with suppress(InspectorError):
                self.journal.note("end", why=ended.why, error=ended.error)
            self.opened.close()
            try:
                nothing: dict[str, Any] = {
                    "why": "",
                    "asked": None,
                    "need": None,
                    "stop": "",
                    "verdict": None,
                }
                self._agent.publish(state="ended", end=ended.why, error=ended.error, **nothing)
            finally:
                self._over.set()


def _main_thread(run: Run) -> AgentThread:
    """Return the main thread, ready to run; begin its journal or continue it. Raises InspectorError."""
    plan = run.plan
    journal = run.journal
    buffer = run.first
    running = run.policy.fresh(run.settings) if plan.running is None else plan.running
    agent = AgentThread(run, thread=MAIN, buffer=buffer, running=running)
    header = _header(plan, run.policy, run.window)
    if plan.resumed is None:
        journal.begin({"id": str(uuid4()), **header}, buffer.prompt)
        journal.thread(
            MAIN, buffer, title=" ".join(plan.task.split())[:80], parent="", parent_call=""
        )
    else:
        held = plan.resumed
        journal.resume(held, header)
        journal.sync(MAIN, buffer.messages)
        agent.turn = held.turn
        agent.begun = frozenset(held.begun)
        agent.sizer = BufferSizer(held.recorded)
        agent.last = (
            Answer(usage=held.usage, finish=held.finish) if held.usage or held.finish else None
        )
        # A buffer that providers refuse is repaired before it is sent.
        agent.waiting = open_calls(buffer)
        agent.edited = True
    agent.write_running()
    return agent


def _header(plan: Plan, policy: Policy[Any, Any], window: int | None) -> dict[str, Any]:
    world = plan.world
    # What is needed to recreate the simulated provider.
    fields = ("window", "pause_s", "compactions")
    return {
        "program": f"context-inspector {__version__}",
        "task": plan.task,
        "workspace": str(plan.workspace.absolute()),
        "provider": plan.provider,
        "model": plan_model(plan),
        "policy": policy.reference,
        "policy_name": policy.name,
        "settings": dict(plan.settings),
        "window": window,
        "window_set": plan.window,
        "max_tokens": plan.max_tokens,
        "remote": plan.remote,
        "memory": plan.memory,
        "world": None if world is None else {name: getattr(world, name) for name in fields},
        **({"forked_from": dict(plan.forked_from)} if plan.forked_from is not None else {}),
    }
