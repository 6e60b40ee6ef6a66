"""The agent's loop, and the sub-agents it starts: each owns its list, all use the same functions (spec 4.3, 4.8).

A conversation like a tier: it also yields AskModel and RunTools. Who drives it answers them.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace

from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.needs import Answer, Failure, Need
from inspector.core.outcome import Outcome
from inspector.core.policies.book import Book, Turn, calls_of
from inspector.core.policies.learn_claude_code.micro import with_content
from inspector.core.policies.learn_claude_code.order import before_call
from inspector.core.policies.learn_claude_code.running import Running
from inspector.core.policies.learn_claude_code.settings import Settings
from inspector.core.policies.learn_claude_code.spill import handle_tool_output
from inspector.core.policies.learn_claude_code.verdicts import verdicts
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


def loop(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> Generator[Need, Answer, Loop]:
    """Run until the model calls no more tools. In faithful mode a failed compaction ends it, as an exception would."""
    book, agents = Book(buffer, running), list[Loop]()
    while True:
        turn = yield from play(book, settings, moment, agents)
        if turn.done or turn.error:
            said = turn.answer.messages if turn.answer is not None else ()
            text = "\n".join(message.text for message in said)
            return Loop(text, book.buffer, book.running, tuple(book.outcomes), tuple(agents), turn.error)


def play(
    book: Book[Running], settings: Settings, moment: Moment, agents: list[Loop] | None = None
) -> Generator[Need, Answer, Turn[Running]]:
    """One model call with its tools. Sub-agents are played here and put into `agents`; None = who drives runs them."""
    tiers = ("spill", "micro", "auto")
    book.about(lambda buffer, running: verdicts(buffer, settings, running, moment), tiers)
    done = yield from before_call(book.buffer, settings, book.running, moment, micro=not moment.agent)
    for outcome in done:
        book.apply(outcome)
        if outcome.error and not settings.safe:
            return book.closed(error=outcome.error)
    try:
        answer = yield from book.ask(moment.max_tokens)
    except Failure as failure:
        return book.closed(error=str(failure) or type(failure).__name__)
    book.add(answer.messages)
    if calls := calls_of(answer):
        yield from _run(calls, book, settings, moment, agents)
    return book.closed(answer)


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


def _run(
    calls: tuple[ToolCall, ...],
    book: Book[Running],
    settings: Settings,
    moment: Moment,
    agents: list[Loop] | None,
) -> Generator[Need, Answer, None]:
    """The results of the calls, in their order; large ones leave a preview."""
    played = agents is not None and not moment.agent
    tasks = [call for call in calls if played and call.name in settings.subagent_tools]
    others = tuple(call for call in calls if call not in tasks)
    found: dict[str, Message] = {}
    if others:
        for message in (yield from book.run(others)):
            result = message.result
            if result is not None:
                content = yield from handle_tool_output(result.content, settings)
                found[result.call_id] = (
                    message if content is result.content else with_content(message, content, cleared=False)
                )
    for call in tasks:
        ended = yield from subagent(call, book.buffer.prompt, settings, book.running, moment)
        if agents is not None:
            agents.append(ended)
        book.running = ended.running
        text = ToolResult(call.id, ended.error or ended.text, bool(ended.error))
        found[call.id] = Message(f"result-{call.id}", "tool", (text,))
    book.add(found[call.id] for call in calls if call.id in found)
