"""What fills a buffer, as a tree: category, MCP server, tool, file or command, message.

Sizes are tokens in the unit of the gauge: the first level is the gauge's composition and the unseen part, and together
the number that is shown for the buffer. Below, every node is shared out among its children in proportion to what the
estimator counts, the largest remainder first, so that children sum to their parent to the token.

A tool's server is read from its name, spelled as Claude Code and Codex do (`mcp__server__tool`), Gemini CLI and VS Code
(`mcp_server_tool`: the server has no underscore), Goose and older Codex (`server__tool`), OpenCode (`server_tool`, and
its own tools have none); Cline names the server in the arguments. Where a client sends its tools by namespace, the
namespace is the server's.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

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
from inspector.core.message import Image, Json, Message, ToolCall, ToolResult
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
    """Return the MCP server of a tool, as its client spells names; empty if the tool is the client's own."""
    if tool in _BY_ARGUMENT and isinstance(arguments, Mapping):
        return str(arguments.get("server_name") or arguments.get("server") or "")
    match = _SPELLED.fullmatch(tool)
    if match is not None:
        return next(group for group in match.groups() if group is not None)
    if client == "opencode" and tool not in _OPENCODE_OWN and (match := _OPENCODE.fullmatch(tool)):
        return match["server"]
    return ""


def offered(prompt: Prompt, client: str = "") -> Iterator[tuple[str, str, Json]]:
    """Yield (name, server, definition) of every tool definition that is sent; those of a namespace separately."""
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
"""file: a file, a command, or what else a call is about; text: a memory file, a skill, a reminder, by its name."""


@dataclass(frozen=True, slots=True)
class BreakdownNode:
    """Part of a buffer. Children sum to `tokens`; the largest first."""

    name: str
    kind: NodeKind
    tokens: int
    messages: tuple[int, ...] = ()
    """Places in the buffer, in order, of the messages that hold it."""
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
    """A tool whose schema goes along, or one that was called without."""

    name: str
    server: str
    schema_tokens: int | None
    """None if the transcript does not hold the schema."""
    calls: int
    """In the whole thread, before and after this request."""
    calls_in_buffer: int
    tokens: int
    """Of its calls and results in the buffer."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """`tree` sums to what the gauge says of the buffer."""

    tree: BreakdownNode
    tools: tuple[OfferedTool, ...]
    """Those that cost most first."""


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The calls of a thread: names are looked up there for results whose calls have left the buffer."""

    client: str
    by_id: Mapping[str, ToolCall]
    count: Mapping[str, int]
    """By name."""
    servers: Mapping[str, str]
    """By name of a tool, where its schema says so."""

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
    return ToolCalls(session.format, {call.id: call for call in calls}, count, servers)


def break_down(size: Sizer, pressure: Pressure, buffer: Buffer, calls: ToolCalls) -> Breakdown:
    """Return what fills a buffer, as a tree whose root has the tokens of `pressure`. O(buffer)."""
    weighed = _BranchWeights(size.estimator, calls, buffer)
    parts = dict(sized(size, pressure, buffer.messages, buffer.prompt))
    total = pressure.tokens or 0
    children = [weighed.root.child(name, "category").node(tokens) for name, tokens in parts.items()]
    children.sort(key=lambda child: -child.tokens)
    if unseen := total - sum(parts.values()):
        children.append(BreakdownNode("unseen", "category", unseen))
    tree = BreakdownNode(
        "buffer", "buffer", total, tuple(range(len(buffer.messages))), tuple(children)
    )
    return Breakdown(tree, tuple(_tools(tree, calls)))


def forget(trees: list[BreakdownNode]) -> None:
    """Empty the list, node by node.

    Freeing 200,000 nodes at once would hold the interpreter, and every other thread with it, for 0.1 s.
    """
    for node in trees:
        trees.extend(node.children)
    trees.reverse()
    while trees:
        trees.pop()


Path: TypeAlias = tuple[tuple[str, NodeKind], ...]
_MESSAGE: NodeKind = "message"


class _Branch:
    """A node while weights are added up."""

    __slots__ = ("calls", "children", "kind", "messages", "name", "weight")

    def __init__(self, name: str, kind: NodeKind) -> None:
        self.name, self.kind = name, kind
        self.weight = 0.0
        self.calls: int | None = 0 if kind == "tool" else None
        self.messages: dict[int, None] = {}
        self.children: dict[tuple[str, NodeKind], _Branch] = {}

    def child(self, name: str, kind: NodeKind) -> "_Branch":
        child = self.children.get((name, kind))
        if child is None:
            child = self.children[name, kind] = _Branch(name, kind)
        return child

    def put(self, path: "Path", at: int | None, weight: float, calls: int = 0) -> None:
        """Add weight of the message at a place (None: of the prompt) to the nodes along a path."""
        branch = self
        branch.add(at, weight, calls)
        for name, kind in path if at is None else (*path, (f"message {at}", _MESSAGE)):
            branch = branch.child(name, kind)
            branch.add(at, weight, calls)

    def add(self, at: int | None, weight: float, calls: int) -> None:
        self.weight += weight
        if at is not None:
            self.messages[at] = None
        if self.calls is not None:
            self.calls += calls

    def node(self, tokens: int) -> BreakdownNode:
        """Return the finished node with its share of the tokens. Frees its branches one by one, as `forget` does."""
        branches = list(self.children.values())
        if len(branches) == 1 and branches[0].kind == "message" and self.kind in ("file", "text"):
            branches = []  # one message: the file says it all
        whole = sum(branch.weight for branch in branches)
        shares = [
            tokens * (branch.weight / whole if whole else 1 / len(branches)) for branch in branches
        ]
        self.children.clear()
        children = [branches.pop().node(share) for share in reversed(rounded(shares, tokens))][::-1]
        children.sort(key=lambda child: -child.tokens)
        return BreakdownNode(
            self.name, self.kind, tokens, tuple(self.messages), tuple(children), self.calls
        )


class _BranchWeights:
    """The weights of a buffer, by category and path."""

    def __init__(self, estimator: Estimator, calls: ToolCalls, buffer: Buffer) -> None:
        self.root = _Branch("buffer", "buffer")
        self._estimator = estimator
        self._calls = calls
        self._here = {call.id: call for message in buffer.messages for call in message.calls}
        for at, message in enumerate(buffer.messages):
            self._message(at, message)
        self._prompt(buffer)

    def _weigh_segments(self, by: Estimator, message: Message, segments: Sequence[Segment]) -> int:
        """Return the weight of some segments of a message by themselves, never below zero."""
        return max(0, weigh_parts(by, message, [segment.part for segment in segments]))

    def _message(self, at: int, message: Message) -> None:
        by, pieces = self._estimator, segments(message)
        by_path: dict[Category, dict[Path, list[Segment]]] = {}
        for segment in pieces:
            by_path.setdefault(segment.category, {}).setdefault(
                self._path(message, segment), []
            ).append(segment)
        for category, weight in split(by, message, pieces).items():
            paths = by_path.get(category) or {(): []}
            shares = [1]
            if len(paths) > 1:
                shares = [
                    self._weigh_segments(by, message, segments) for segments in paths.values()
                ]
            whole = sum(shares) or 1
            for (path, members), share in zip(paths.items(), shares, strict=True):
                calls = sum(isinstance(segment.part, ToolCall | ToolResult) for segment in members)
                self.root.child(category, "category").put(path, at, weight * share / whole, calls)

    def _path(self, message: Message, segment: Segment) -> Path:
        part = segment.part
        if segment.category in ("memory files", "skills", "reminders"):
            return ((segment.label, "text"),) if segment.label else ()
        if isinstance(part, ToolCall) and segment.category == "tool calls":
            return self._called(part)
        result = message.result
        if result is not None and (isinstance(part, Image) or segment.category == "tool results"):
            call = self._here.get(result.call_id) or self._calls.by_id.get(result.call_id)
            return self._called(call) if call is not None else ((_UNKNOWN, "tool"),)
        return ()

    def _called(self, call: ToolCall) -> Path:
        server, subject = self._calls.server(call), subject_of(call)
        above: Path = ((server, "server"),) if server else ()
        below: Path = ((subject, "file"),) if subject else ()
        return (*above, (call.name, "tool"), *below)

    def _prompt(self, buffer: Buffer) -> None:
        """Add the system prompt and the tools. They are counted in tokens and converted to the messages' weight."""
        by, prompt = self._estimator, buffer.prompt
        unit = _MANY / (by.tokens(_MANY) or _MANY)
        pieces = system_pieces(by, prompt.system) if prompt.system else ()
        sizes = prompt_categories(by, prompt)
        for (category, label, _), (_, tokens) in zip(pieces, sizes, strict=False):
            name = label or ("system prompt" if category == "system" else category)
            self.root.child(category, "category").put(((name, "text"),), None, tokens * unit)
        listed = list(offered(prompt, self._calls.client))
        read = [read_definition(definition) for _, _, definition in listed]
        shares = [0 if definition is None else by.text(dumps(definition)) for definition in read]
        whole, tokens = sum(shares) or 1, sizes[-1][1]
        for (name, server, _), share in zip(listed, shares, strict=True):
            path: Path = ((server, "server"), (name, "tool")) if server else ((name, "tool"),)
            self.root.child("tools", "category").put(path, None, tokens * unit * share / whole)


_MANY = 1_000_000
_UNKNOWN = "unknown tool"
"""Of a result whose call the transcript does not hold."""


def _tools(tree: BreakdownNode, calls: ToolCalls) -> list[OfferedTool]:
    """Every tool with a schema, and every one that was called."""
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
                called[key] += (node.calls or 0) * (category.name == "tool calls")
    for call in calls.by_id.values():
        called[calls.server(call), call.name] += 0
    tools = []
    for key in dict.fromkeys((*schemas, *called)):
        server, name = key
        if name != _UNKNOWN:
            in_thread = calls.count.get(name, 0)
            tools.append(
                OfferedTool(name, server, schemas.get(key), in_thread, called[key], used[key])
            )
    return sorted(tools, key=lambda tool: -(tool.tokens + (tool.schema_tokens or 0)))


def _tool_nodes(category: BreakdownNode) -> Iterator[tuple[str, BreakdownNode]]:
    for child in category.children:
        if child.kind == "tool":
            yield "", child
        elif child.kind == "server":
            yield from ((child.name, node) for node in child.children)
