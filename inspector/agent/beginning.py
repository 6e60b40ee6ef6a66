"""How a run begins: its first buffer, its journal, its main thread; or those of one that is gone on with."""

from typing import Any
from uuid import uuid4

from inspector import __version__
from inspector.agent.agent import MAIN, Agent
from inspector.agent.controls import Controls
from inspector.agent.journal import Journal
from inspector.agent.plan import Plan
from inspector.agent.run import Models, Run, compacts_remotely, model_of
from inspector.agent.tools.prompt import prompt
from inspector.agent.tools.toolbox import Toolbox
from inspector.agent.voice import Voice
from inspector.agent.weighing import Weighing
from inspector.agent.worlds import world_told
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Message, Text, ToolCall
from inspector.core.needs import Answer
from inspector.core.policies.harness import Policy

PROGRAM = f"context-inspector {__version__}"
"""Who writes the journal."""


def first_buffer(plan: Plan, tools: Toolbox) -> Buffer:
    """What the run begins with. Raises InspectorError where nothing says what is to be done."""
    start = plan.start or Buffer((), prompt(tools.folder))
    if not plan.task.strip():
        last = start.messages[-1] if start.messages else None
        if last is None or (last.role == "assistant" and not last.calls):
            raise InspectorError("It is not said what is to be done: give the run a task.")
        return start
    return start.with_messages((*start.messages, Message(f"task-{uuid4().hex[:12]}", "user", (Text(plan.task),))))


def begin(
    plan: Plan,
    policy: Policy[Any, Any],
    settings: Any,
    window: int | None,
    tools: Toolbox,
    models: Models,
    controls: Controls,
    voice: Voice,
) -> Agent:
    """The main thread, ready to live. Opens the journal. Raises InspectorError."""
    buffer = first_buffer(plan, tools)
    models.of(MAIN, buffer.prompt)
    running = policy.fresh(settings) if plan.running is None else plan.running
    journal = Journal(plan.record, new=plan.resumed is None)
    run = Run(plan, policy, settings, window, controls, voice, journal, tools, models, {}, compacts_remotely(plan))
    agent = Agent(run, MAIN, buffer, running)
    header = _header(plan, policy, window)
    if plan.resumed is None:
        journal.begin({"id": str(uuid4()), **header}, buffer.prompt)
        journal.thread(MAIN, buffer, title=" ".join(plan.task.split())[:80], parent="", parent_call="")
        agent.write_running()
    else:
        held = plan.resumed
        journal.resume(held, header)
        journal.sync(MAIN, buffer.messages)
        agent.turn, agent.begun, agent.weighing = held.turn, frozenset(held.begun), Weighing(held.recorded)
        agent.last = Answer(usage=held.usage, finish=held.finish) if held.usage or held.finish else None
        agent.waiting, agent.edited = open_calls(buffer), True  # what no provider takes is mended before it is sent
        agent.write_running()
    return agent


def open_calls(buffer: Buffer) -> tuple[ToolCall, ...]:
    """The calls of the last answer that have no result, in order."""
    answered, calls = set[str](), list[ToolCall]()
    for message in reversed(buffer.messages):
        if message.role not in ("assistant", "tool"):
            break
        if message.result is not None:
            answered.add(message.result.call_id)
        calls += reversed([call for call in message.calls if call.id not in answered])
    return tuple(reversed(calls))


def _header(plan: Plan, policy: Policy[Any, Any], window: int | None) -> dict[str, Any]:
    return {
        "program": PROGRAM,
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
        "world": world_told(plan.world),
        **({"forked_from": dict(plan.forked_from)} if plan.forked_from is not None else {}),
    }
