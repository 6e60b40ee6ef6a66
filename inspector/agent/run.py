"""What all threads of a run share: the plan, the policy, the tools, the journal and the user's controls."""

from contextlib import ExitStack, closing
from typing import Any
from uuid import uuid4

from inspector.agent.journal import Journal
from inspector.agent.plan import Plan
from inspector.agent.status import Breakpoints, Controls, Publish, RunStatus, StatusPublisher
from inspector.agent.tools.toolbox import Toolbox, prompt
from inspector.agent.workspace import WorkspaceAnswerer
from inspector.core.answering import offline
from inspector.core.buffer import Buffer, Prompt
from inspector.core.errors import InspectorError
from inspector.core.message import Message, Text
from inspector.core.policies.harness import Policy
from inspector.core.tokens.catalogue import catalogue_window
from inspector.extensions.policies import find_policy
from inspector.extensions.windows import user_windows
from inspector.providers.answerers import SIMULATED, Answering, answerer, simulated_api
from inspector.simulated.demo import COMPACTIONS, MODEL
from inspector.simulated.state import WINDOW, SimulatedServerState

MAIN = "main"
"""Name of the thread that works on the user's task."""


class Models:
    """The run's answerers: a separate model connection for each thread (cache key, frozen tools), and one for files."""

    def __init__(self, plan: Plan, window: int | None) -> None:
        self._plan = plan
        # The demo's provider soon stops compacting remotely.
        left = COMPACTIONS if plan.model == MODEL else None
        self._world = plan.world or SimulatedServerState(window or WINDOW, compactions=left)
        self._session = uuid4().hex
        self._kept: dict[str, Answering] = {}
        self.hands = WorkspaceAnswerer(offline, plan.workspace)
        """Answers needs without a model: files, and the offline summariser."""

    def of(self, thread: str, prompt: Prompt) -> Answering:
        """Return the model that answers the calls of this thread. Raises InspectorError."""
        if thread not in self._kept:
            plan = self._plan
            session = f"{self._session}-{len(self._kept)}"
            self._kept[thread] = answerer(
                plan.provider, plan_model(plan), prompt, session, world=self._world
            )
        return self._kept[thread]

    def close(self) -> None:
        models = self._kept
        self._kept = {}
        for model in models.values():
            model.close()


def plan_model(plan: Plan) -> str:
    """Return the model to call; the simulated provider needs no name."""
    return plan.model or (SIMULATED if simulated_api(plan.provider, plan.model) else "")


def plan_window(plan: Plan) -> int | None:
    """Return the model's window in tokens: from the plan, from the tables, or from the simulated provider; None if
    unknown.
    """
    if plan.window is not None:
        return plan.window
    if plan.world is not None:
        return plan.world.window
    window = catalogue_window(plan.model, user_windows()) if plan.model else None
    return window or (WINDOW if simulated_api(plan.provider, plan.model) else None)


def plan_policy(plan: Plan, window: int | None) -> tuple[Policy[Any, Any], Any]:
    """Return the policy and its settings. Raises InspectorError."""
    policy = find_policy(plan.policy)
    return policy, policy.settings(plan.all_settings, window)


def compacts_remotely(plan: Plan) -> bool:
    """Can the provider compact remotely, in a form that its dialect can read again?"""
    if plan.remote is not None:
        return plan.remote
    simulated = simulated_api(plan.provider, plan.model)
    return simulated == "responses" or plan.provider.lower() in ("openai", "openai:responses")


class Run(Controls):
    """One run from its plan to its end, with the user's controls."""

    def __init__(self, plan: Plan, publish: Publish, breakpoints: Breakpoints) -> None:
        """Raises InspectorError for an unusable provider, model, policy, setting, workspace or journal."""
        super().__init__(breakpoints)
        self.plan = plan
        self.window = plan_window(plan)
        self.policy, self.settings = plan_policy(plan, self.window)
        self.publisher = StatusPublisher(publish, RunStatus(window=self.window))
        self.allowed = set[str]()
        """Keys of calls that the user always allows, from `Toolbox.covered_by_always`."""
        self.remote = compacts_remotely(plan)
        """True if the provider can compact remotely, as far as is known."""
        self.reports = 0
        """Number of reported turns."""
        with ExitStack() as opened:
            self.tools = opened.enter_context(Toolbox(plan.workspace))
            self.models = opened.enter_context(closing(Models(plan, self.window)))
            self.first = _first_buffer(plan, self.tools)
            """The buffer that the main thread begins with."""
            self.models.of(MAIN, self.first.prompt)
            self.journal = opened.enter_context(
                closing(Journal(plan.record, new=plan.resumed is None))
            )
            self.opened = opened.pop_all()
            """Closes everything that the run has opened."""


def _first_buffer(plan: Plan, tools: Toolbox) -> Buffer:
    """Return the buffer that the run begins with. Raises InspectorError if it contains no task."""
    start = plan.start or Buffer((), prompt(tools.folder))
    if not plan.task.strip():
        last = start.messages[-1] if start.messages else None
        if last is None or (last.role == "assistant" and not last.calls):
            raise InspectorError("The run has no task: give it one.")
        return start
    return start.with_messages(
        (*start.messages, Message(f"task-{uuid4().hex[:12]}", "user", (Text(plan.task),)))
    )
