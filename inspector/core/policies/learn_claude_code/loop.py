"""The agent's loop, and the sub-agents it starts: each owns its list, all use the same functions (spec 4.3, 4.8).

A conversation like a tier: it also yields AskModel and RunTools. Who drives it answers them.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.needs import Answer, AskModel, Failure, Need, RunTools
from inspector.core.outcome import Outcome
from inspector.core.policies.learn_claude_code.micro import with_content
from inspector.core.policies.learn_claude_code.order import before_call
from inspector.core.policies.learn_claude_code.running import Running
from inspector.core.policies.learn_claude_code.settings import Settings
from inspector.core.policies.learn_claude_code.spill import handle_tool_output
from inspector.core.policies.policy import Moment


@dataclass(frozen=True, slots=True)
class Loop:
    """How it ended. `text` is the final answer; `error` is empty unless something ended the loop before."""

    text: str
    buffer: Buffer
    running: Running
    outcomes: tuple[Outcome[Running], ...] = ()
    agents: "tuple[Loop, ...]" = ()
    """The sub-agents that it started, each with the list it had at its end."""
    error: str = ""


class _Book:
    """What a loop writes down while it runs."""

    def __init__(self, buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> None:
        self.buffer, self.settings, self.running, self.moment = buffer, settings, running, moment
        self.outcomes: list[Outcome[Running]] = []
        self.agents: list[Loop] = []

    def append(self, messages: Sequence[Message]) -> None:
        self.buffer = self.buffer.with_messages((*self.buffer.messages, *messages))

    def closed(self, text: str, error: str = "") -> Loop:
        return Loop(text, self.buffer, self.running, tuple(self.outcomes), tuple(self.agents), error)


def loop(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> Generator[Need, Answer, Loop]:
    """Run until the model calls no more tools. In faithful mode a failed compaction ends it, as an exception would."""
    book = _Book(buffer, settings, running, moment)
    while True:
        is_main = not moment.agent
        for outcome in (yield from before_call(book.buffer, settings, book.running, moment, micro=is_main)):
            book.buffer, book.running = outcome.buffer, outcome.running
            book.outcomes.append(outcome)
            if outcome.error and not settings.safe:
                return book.closed("", outcome.error)
        try:
            answer = yield AskModel(book.buffer, moment.max_tokens)
        except Failure as failure:
            return book.closed("", str(failure) or type(failure).__name__)
        book.append(answer.messages)
        calls = tuple(call for message in answer.messages for call in message.calls)
        if not calls:
            return book.closed("\n".join(message.text for message in answer.messages))
        yield from _run(calls, book)


def subagent(
    call: ToolCall, prompt: Prompt, settings: Settings, running: Running, moment: Moment
) -> Generator[Need, Answer, Loop]:
    """A list of its own that begins with the call's prompt; only the final text is for the parent to see."""
    asked = call.arguments.get("prompt") if isinstance(call.arguments, dict) else None
    task = Message(f"task-{call.id}", "user", (Text(asked if isinstance(asked, str) else ""),))
    tools = prompt.tools
    if tools is not None:  # a sub-agent starts none
        tools = tuple(tool for tool in tools if tool.name not in settings.subagent_tools)
    own = Buffer((task,), Prompt(prompt.system, tools))
    return (yield from loop(own, settings, running, replace(moment, agent=call.id, instructions="")))


def _run(calls: Sequence[ToolCall], book: _Book) -> Generator[Need, Answer, None]:
    """The results of the calls, in their order; large ones leave a preview."""
    settings = book.settings
    tasks = [call for call in calls if call.name in settings.subagent_tools and not book.moment.agent]
    others = tuple(call for call in calls if call not in tasks)
    found: dict[str, Message] = {}
    if others:
        for message in (yield RunTools(others)).messages:
            result = message.result
            if result is not None:
                content = yield from handle_tool_output(result.content, settings)
                found[result.call_id] = (
                    message if content is result.content else with_content(message, content, cleared=False)
                )
    for call in tasks:
        ended = yield from subagent(call, book.buffer.prompt, settings, book.running, book.moment)
        book.agents.append(ended)
        book.running = ended.running
        text = ToolResult(call.id, ended.error or ended.text, bool(ended.error))
        found[call.id] = Message(f"result-{call.id}", "tool", (text,))
    book.append([found[call.id] for call in calls if call.id in found])
