"""A run with a thread of its own. Everything the person may do to it is a method here; it tells how it stands.

All methods but `wait` and `close` return at once and may be called from any thread. What they lead to is told by
`tell`, which is called from the run's own threads, never twice at a time.
"""

import threading
from contextlib import suppress
from typing import Any

from inspector.agent.agent import Ended
from inspector.agent.beginning import begin
from inspector.agent.breakpoints import Breakpoints
from inspector.agent.controls import Controls, Permit, Replace, Stopped
from inspector.agent.plan import NeedsBy, Plan
from inspector.agent.run import Models, Run, policy_of, window_of
from inspector.agent.standing import Standing
from inspector.agent.tools.toolbox import Toolbox
from inspector.agent.voice import Tell, Voice
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.needs import Answer, Failure

__all__ = ["Permit", "Runner", "Tell"]


class Runner:
    """One run. `start` it, `close` it when done."""

    def __init__(self, plan: Plan, tell: Tell, breakpoints: Breakpoints | None = None) -> None:
        """Raises InspectorError for a provider, model, policy, setting, workspace or journal that will not do."""
        window = window_of(plan)
        policy, settings = policy_of(plan, window)
        self._controls = Controls(breakpoints or Breakpoints(), plan.needs_by)
        tools, models = Toolbox(plan.workspace), Models(plan, window)
        try:
            self._agent = begin(plan, policy, settings, window, tools, models, self._controls, Voice(tell, Standing()))
        except BaseException:
            tools.close()
            models.close()
            raise
        self._run: Run = self._agent.run
        self._thread = threading.Thread(target=self._live, name="run", daemon=True)
        self._over = threading.Event()

    def start(self, paused: bool = False) -> None:
        """Begin; with `paused` it stops before its first model call."""
        if paused:
            self._controls.set_mode("pause")
        self._thread.start()

    def go(self) -> None:
        """Run on, to the next breakpoint or to the end."""
        self._controls.set_mode("go")

    def pause(self) -> None:
        """Stop at the next place where one can: before a tier, a model call or a tool call."""
        self._controls.set_mode("pause")

    def step_model(self) -> None:
        """Run on until one model call has been answered."""
        self._controls.set_mode("model")

    def step_tool(self) -> None:
        """Run on until one tool call has its result."""
        self._controls.set_mode("tool")

    def stop(self) -> None:
        """End the run now: the model call is cancelled, a running command is killed with its children."""
        self._controls.stop()

    def break_at(self, breakpoints: Breakpoints) -> None:
        """Other breakpoints from now on."""
        self._controls.break_at(breakpoints)

    def permit(self, id: str, how: Permit) -> None:  # noqa: A002
        """Answer the permission of that id; one that is no longer asked for is ignored."""
        self._controls.permit(id, how)

    def replace(self, buffer: Buffer, running: Any = None) -> None:
        """Put another buffer (and running state) into the thread that is paused. Its prompt stays.

        Raises InspectorError if none is paused.
        """
        self._controls.replace(Replace(buffer, running))

    def answer_needs_by(self, who: NeedsBy) -> None:
        """Who answers the needs of tiers from now on."""
        self._controls.answer_needs_by(who)

    def answer(self, reply: Answer | Failure) -> None:
        """Meet the need that is open, or fail it. Raises InspectorError where none is."""
        self._controls.answer(reply)

    @property
    def standing(self) -> Standing:
        """How it stands now."""
        return self._run.voice.standing

    @property
    def breakpoints(self) -> Breakpoints:
        """As they are now."""
        return self._controls.breakpoints

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the run has ended; False where it has not by then."""
        return self._over.wait(timeout_s)

    def close(self) -> None:
        """Stop it if it still runs, wait for its thread, close what it opened. May be called twice."""
        self._controls.stop()
        if self._thread.ident is None:
            self._close()
        elif self._thread is not threading.current_thread():
            self._thread.join()

    def _live(self) -> None:
        """The thread. However it ends, the journal and the window hear of it."""
        ended = Ended("error", error="the run broke off by a fault of this program")
        try:
            ended = self._agent.live()
        except Stopped:
            ended = Ended("stopped")
        except InspectorError as why:
            ended = Ended("error", error=str(why))
        finally:
            with suppress(InspectorError):
                self._run.journal.told("end", why=ended.why, error=ended.error)
            self._close()
            try:
                nothing: dict[str, Any] = {"why": "", "asked": None, "need": None, "stop": "", "verdict": None}
                self._agent.say(state="ended", end=ended.why, error=ended.error, **nothing)
            finally:
                self._over.set()

    def _close(self) -> None:
        self._run.models.close()
        self._run.tools.close()
        self._run.journal.close()
