"""Break down the tokens of a buffer as a tree: category, MCP server, tool, file or command, message.

Sizes are tokens in the unit of the gauge. The first level is the gauge's composition and the unseen part, which add up
to the number that is shown for the buffer. Below it, the tokens of every node are divided among its children in
proportion to the estimator's counts, and remainders are distributed so that children sum exactly to their parent.

A tool's server is read from its name, as the client writes it: Claude Code and Codex `mcp__server__tool`, Gemini CLI
and VS Code `mcp_server_tool` (the server has no underscore), Goose and older Codex `server__tool`, OpenCode
`server_tool` (its own tools have no underscore). Cline names the server in the arguments. If a client sends its tools
by namespace, the namespace is the server.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

from inspector.core.buffer import Buffer, Prompt, read_definition
from inspector.core.calls import subject_of
from inspector.core.dialects.openai_responses import in_namespace
from inspector.core.findings.composition import (
    Category,
    Segment,
    prompt_categories,
    segments,
    sized,
    split,
    system_pieces,
    weigh_parts,
)
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Json, Message, Part, ToolCall, ToolResult
from inspector.core.session import Session, Thread
from inspector.core.tokens.estimator import Estimator
from inspector.core.tokens.pressure import Pressure
from inspector.core.tokens.sizing import Sizer, rounded

_SPELLED = re.compile(
    r"mcp__(?P<claude>.+?)(?:__.*)?$|mcp_(?P<gemini>[^_]+)_.+|(?P<goose>[^_].*?)__[^_].*"
)
_OPENCODE = re.compile(r"(?P<server>[a-zA-Z0-9-]+)_.+")
_OPENCODE_OWN = frozenset({"apply_patch", "plan_exit", "plan_enter"})
_BY_ARGUMENT = ("use_mcp_tool", "access_mcp_resource", "call_mcp_tool")


def server_of(tool: str, client: str = "", arguments: Json = None) -> str:
    """Return the MCP server of a tool, by the way its client writes names; empty if the tool is the client's own."""
    if tool in _BY_ARGUMENT and isinstance(arguments, Mapping):
        return str(arguments.get("server_name") or arguments.get("server") or "")
    match = _SPELLED.fullmatch(tool)
    if match is not None:
        return next(group for group in match.groups() if group is not None)
    if client != "opencode" or tool in _OPENCODE_OWN:
        return ""
    match = _OPENCODE.fullmatch(tool)
    return match["server"] if match is not None else ""


def offered(prompt: Prompt, client: str = "") -> Iterator[tuple[str, str, Json]]:
    """Yield (name, server, definition) of every tool definition in a prompt; tools of a namespace separately."""
    for tool in prompt.tools or ():
        inner = in_namespace(tool.definition)
        if not inner:
            yield tool.name, server_of(tool.name, client), tool.definition
        for definition in inner:
            yield (
                str(definition.get("name", "")),
                server_of(tool.name, client) or tool.name,
                definition,
            )


NodeKind: TypeAlias = Literal["buffer", "category", "server", "tool", "file", "text", "message"]
"""file: a file, a command, or another subject of a call; text: a memory file, a skill or a reminder, by its name."""


@dataclass(frozen=True, slots=True)
class BreakdownNode:
    """Part of a buffer. Children sum to `tokens` and are sorted by size, largest first."""

    name: str
    kind: NodeKind
    tokens: int
    messages: tuple[int, ...] = ()
    """Places in the buffer of the messages that hold this part, in order."""
    children: tuple["BreakdownNode", ...] = ()
    calls: int | None = None
    """The calls, or results, of a tool below this node; None for other kinds."""

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "BreakdownNode"]]:
        """Yield (depth, node) of this node and all below it, each before its children."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)

    def along(self, names: Iterable[str]) -> tuple["BreakdownNode", ...]:
        """Return this node and its descendants along a path of names, up to the last name that exists."""
        branch = [self]
        for name in names:
            inner = next((child for child in branch[-1].children if child.name == name), None)
            if inner is None:
                break
            branch.append(inner)
        return tuple(branch)


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool whose schema is sent, or a tool that was called although its schema is not recorded."""

    name: str
    server: str
    schema_tokens: int | None
    """Tokens of the tool's schema; None if the schema is not recorded."""
    calls: int
    """Number of calls in the whole thread, before and after this request."""
    calls_in_buffer: int
    tokens: int
    """Tokens of the tool's calls and results in the buffer."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The content of a buffer. `tree` sums to the number that the gauge shows for the buffer."""

    tree: BreakdownNode
    tools: tuple[OfferedTool, ...]
    """The tools, those with most tokens first."""


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The calls of a whole thread, for looking up the call of a result when the call is no longer in the buffer."""

    client: str
    by_id: Mapping[str, ToolCall]
    count: Mapping[str, int]
    """Number of calls by name of the tool."""
    servers: Mapping[str, str]
    """MCP server by name of the tool, for tools whose recorded schema names one."""

    def server(self, call: ToolCall) -> str:
        """Return the MCP server of the tool that is called."""
        return self.servers.get(call.name) or server_of(call.name, self.client, call.arguments)


def tool_calls(session: Session, thread: Thread) -> ToolCalls:
    """Collect the tool calls of a whole thread. O(messages)."""
    calls = [call for message in thread.messages for call in message.calls]
    prompts = {id(request.prompt): request.prompt for request in thread.requests} | {
        0: thread.prompt
    }
    servers = {
        name: server for prompt in prompts.values() for name, server, _ in offered(prompt) if server
    }
    count = Counter(call.name for call in calls)
    return ToolCalls(
        session.format, by_id={call.id: call for call in calls}, count=count, servers=servers
    )


def break_down(size: Sizer, pressure: Pressure, buffer: Buffer, calls: ToolCalls) -> Breakdown:
    """Return what fills a buffer, as a tree whose root has the tokens of `pressure`. O(buffer)."""
    rows = _split_by_category(_buffer_rows(size.estimator, buffer, calls))
    parts = sized(size, pressure, view=buffer.messages, prompt=buffer.prompt)
    children = [
        _build_node((category, "category"), tokens, rows.pop(category, []))
        for category, tokens in parts
    ]
    children.sort(key=lambda child: -child.tokens)
    total = pressure.tokens or 0
    unseen = total - sum(tokens for _, tokens in parts)
    if unseen:
        children.append(BreakdownNode("unseen", "category", unseen))
    places = tuple(range(len(buffer.messages)))
    tree = BreakdownNode(
        "buffer", kind="buffer", tokens=total, messages=places, children=tuple(children)
    )
    return Breakdown(tree, tuple(_tools(tree, calls)))


def forget(trees: list[BreakdownNode]) -> None:
    """Empty the list and free the trees node by node.

    Freeing 200,000 nodes at once would block the interpreter, and every other thread, for 0.1 s.
    """
    for node in trees:
        trees.extend(node.children)
    trees.reverse()
    while trees:
        trees.pop()


Step: TypeAlias = tuple[str, NodeKind]
Path: TypeAlias = tuple[Step, ...]
"""The name and kind of each node on the way from a category to a part; the category is left out."""


class _Row(NamedTuple):
    """The weight of one piece of the buffer, and its place in the tree."""

    category: Category
    path: Path
    place: int | None
    """Place of the message that holds the piece; None if it is part of the prompt."""
    weight: float
    calls: int = 0
    """Number of calls and results in the piece."""


_WEIGHT = attrgetter("weight")


def _split_by_category(rows: Iterable[_Row]) -> dict[Category, list[_Row]]:
    by_category: dict[Category, list[_Row]] = {}
    for row in rows:
        by_category.setdefault(row.category, []).append(row)
    return by_category


def _build_node(step: Step, tokens: int, rows: list[_Row], depth: int = 0) -> BreakdownNode:
    """Return the node of these rows, which share the path up to `depth`, with all nodes below it.

    A file or text that is in only one message has no node for that message. The list of rows is emptied, so that the
    rows are freed one by one, as `forget` does with nodes.
    """
    name, kind = step
    places = tuple(dict.fromkeys(row.place for row in rows if row.place is not None))
    calls = sum(row.calls for row in rows) if kind == "tool" else None
    if kind == "message" or (kind in ("file", "text") and len(places) == 1):
        return BreakdownNode(name, kind, tokens, messages=places)
    groups: dict[Step, list[_Row]] = {}
    for row in rows:
        if depth < len(row.path):
            groups.setdefault(row.path[depth], []).append(row)
    rows.clear()
    children = [
        _build_node(inner, tokens=share, rows=groups.pop(inner), depth=depth + 1)
        for inner, share in _share_tokens(tokens, groups)
    ]
    children.sort(key=lambda child: -child.tokens)
    return BreakdownNode(name, kind, tokens, messages=places, children=tuple(children), calls=calls)


def _share_tokens(tokens: int, groups: Mapping[Step, Sequence[_Row]]) -> list[tuple[Step, int]]:
    """Divide tokens among groups of rows in proportion to their weight, or evenly if the weights are zero."""
    weights = [sum(map(_WEIGHT, group)) for group in groups.values()]
    whole = sum(weights)
    if not whole:
        weights = [1.0] * len(weights)
        whole = len(weights)
    shares = [tokens * (weight / whole) for weight in weights]
    return list(zip(groups, rounded(shares, tokens), strict=True))


def _buffer_rows(estimator: Estimator, buffer: Buffer, calls: ToolCalls) -> Iterator[_Row]:
    """Yield the rows of all messages, in order, then those of the system prompt and the tools."""
    in_buffer = {call.id: call for message in buffer.messages for call in message.calls}
    all_calls = replace(calls, by_id={**calls.by_id, **in_buffer})
    for place, message in enumerate(buffer.messages):
        yield from _message_rows(estimator, all_calls, place, message)
    yield from _prompt_rows(estimator, buffer.prompt, calls.client)


def _message_rows(
    estimator: Estimator, calls: ToolCalls, place: int, message: Message
) -> Iterator[_Row]:
    """Yield a row for each path in a message. The parts of a category share its weight by their own weights."""
    pieces = segments(message)
    parts: dict[Category, dict[Path, list[Part]]] = {}
    for segment in pieces:
        by_path = parts.setdefault(segment.category, {})
        by_path.setdefault(_path(calls, message, segment), []).append(segment.part)
    for category, weight in split(estimator, message, pieces).items():
        by_path = parts.get(category) or {(): []}
        alone = [1]
        if len(by_path) > 1:
            alone = [max(0, weigh_parts(estimator, message, group)) for group in by_path.values()]
        whole = sum(alone) or 1
        for (path, group), share in zip(by_path.items(), alone, strict=True):
            count = sum(isinstance(part, ToolCall | ToolResult) for part in group)
            below: Path = (*path, (f"message {place}", "message"))
            yield _Row(
                category, path=below, place=place, weight=weight * share / whole, calls=count
            )


def _path(calls: ToolCalls, message: Message, segment: Segment) -> Path:
    """Return the path of a segment below its category, without the message."""
    part, result = segment.part, message.result
    if segment.category in ("memory files", "skills", "reminders"):
        return ((segment.label, "text"),) if segment.label else ()
    if isinstance(part, ToolCall) and segment.category == "tool calls":
        return _call_path(calls, part)
    if result is not None and (isinstance(part, Image) or segment.category == "tool results"):
        call = calls.by_id.get(result.call_id)
        return ((_UNKNOWN, "tool"),) if call is None else _call_path(calls, call)
    return ()


def _call_path(calls: ToolCalls, call: ToolCall) -> Path:
    subject = subject_of(call)
    tool = _tool_path(calls.server(call), call.name)
    return (*tool, (subject, "file")) if subject else tool


def _tool_path(server: str, name: str) -> Path:
    return ((server, "server"), (name, "tool")) if server else ((name, "tool"),)


def _prompt_rows(estimator: Estimator, prompt: Prompt, client: str) -> Iterator[_Row]:
    """Yield the rows of the system prompt and the tools. Their tokens are converted to the messages' weight."""
    unit = _MANY / (estimator.tokens(_MANY) or _MANY)
    pieces = system_pieces(estimator, prompt.system) if prompt.system else ()
    sizes = prompt_categories(estimator, prompt)
    for (category, label, _), (_, tokens) in zip(pieces, sizes, strict=False):
        name = label or ("system prompt" if category == "system" else category)
        yield _Row(category, path=((name, "text"),), place=None, weight=tokens * unit)
    schemas = list(offered(prompt, client))
    alone = [_schema_tokens(estimator, definition) for _, _, definition in schemas]
    whole = sum(alone) or 1
    _, tokens = sizes[-1]
    for (name, server, _), share in zip(schemas, alone, strict=True):
        yield _Row(
            "tools", _tool_path(server, name), place=None, weight=tokens * unit * share / whole
        )


def _schema_tokens(estimator: Estimator, definition: Json) -> int:
    read = read_definition(definition)
    return 0 if read is None else estimator.text(dumps(read))


_MANY = 1_000_000
_UNKNOWN = "unknown tool"
"""Name of the tool of a result whose call is not recorded."""


def _tools(tree: BreakdownNode, calls: ToolCalls) -> list[OfferedTool]:
    """Return every tool with a schema, and every tool that was called."""
    schemas: dict[tuple[str, str], int] = {}
    used: Counter[tuple[str, str]] = Counter()
    called: Counter[tuple[str, str]] = Counter()
    for category in tree.children:
        for server, node in _tool_nodes(category):
            key = server, node.name
            if category.name == "tools":
                schemas[key] = schemas.get(key, 0) + node.tokens
            else:
                used[key] += node.tokens
                are_calls = category.name == "tool calls"
                called[key] += (node.calls or 0) if are_calls else 0
    for call in calls.by_id.values():  # tools that were called, but not in this buffer
        called.setdefault((calls.server(call), call.name), 0)
    tools = []
    for key in dict.fromkeys((*schemas, *called)):
        server, name = key
        if name == _UNKNOWN:
            continue
        tool = OfferedTool(
            name,
            server,
            schema_tokens=schemas.get(key),
            calls=calls.count.get(name, 0),
            calls_in_buffer=called[key],
            tokens=used[key],
        )
        tools.append(tool)
    return sorted(tools, key=lambda tool: -(tool.tokens + (tool.schema_tokens or 0)))


def _tool_nodes(category: BreakdownNode) -> Iterator[tuple[str, BreakdownNode]]:
    for child in category.children:
        if child.kind == "tool":
            yield "", child
        elif child.kind == "server":
            yield from ((child.name, node) for node in child.children)
