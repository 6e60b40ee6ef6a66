"""What fills a buffer, as a tree: category, MCP server, tool, file or command, message.

Sizes are tokens in the unit of the gauge: the first level is the gauge's composition and the unseen part, and together
the number that is shown for the buffer. Below, every node is shared out among its children in proportion to what the
estimator counts, the largest remainder first, so that children sum to their parent to the token.

A tool's server is told by its name, spelled as Claude Code and Codex do (`mcp__server__tool`), Gemini CLI and VS Code
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

_SPELLED = re.compile(r"mcp__(?P<one>.+?)(?:__.*)?$|mcp_(?P<two>[^_]+)_.+|(?P<three>[^_].*?)__[^_].*")
_OPENCODE = re.compile(r"(?P<server>[a-zA-Z0-9-]+)_.+")
_OPENCODE_OWN = frozenset({"apply_patch", "plan_exit", "plan_enter"})
_BY_ARGUMENT = ("use_mcp_tool", "access_mcp_resource", "call_mcp_tool")


def server_of(tool: str, client: str = "", arguments: Json = None) -> str:
    """The MCP server that a tool is of, as its client spells names; empty where it is the client's own."""
    if tool in _BY_ARGUMENT and isinstance(arguments, Mapping):
        return str(arguments.get("server_name") or arguments.get("server") or "")
    match = _SPELLED.fullmatch(tool)
    if match is not None:
        return next(group for group in match.groups() if group is not None)
    if client == "opencode" and tool not in _OPENCODE_OWN and (match := _OPENCODE.fullmatch(tool)):
        return match["server"]
    return ""


def offered(prompt: Prompt, client: str = "") -> Iterator[tuple[str, str, Json]]:
    """(name, server, definition) of every tool that goes along; those of a namespace one by one."""
    for tool in prompt.tools or ():
        inner = in_namespace(tool.definition)
        if not inner:
            yield tool.name, server_of(tool.name, client), tool.definition
        for one in inner:
            yield str(one.get("name", "")), server_of(tool.name, client) or tool.name, one


NodeKind: TypeAlias = Literal["buffer", "category", "server", "tool", "file", "text", "message"]
"""file: a file, a command, or what else a call is about; text: a memory file, a skill, a reminder, by its name."""


@dataclass(frozen=True, slots=True)
class BreakdownNode:
    """Something that stands in the buffer. Children sum to `tokens`; the largest first."""

    name: str
    kind: NodeKind
    tokens: int
    messages: tuple[int, ...] = ()
    """Places in the buffer, in order: the messages it stands in."""
    children: tuple["BreakdownNode", ...] = ()
    calls: int | None = None
    """Of a tool: how many calls, or results, of it stand here."""

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "BreakdownNode"]]:
        """(depth, node), itself first, each before its children."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)

    def along(self, names: Iterable[str]) -> tuple["BreakdownNode", ...]:
        """Itself and the nodes of these names, each in the one before, as far as they are there."""
        found = [self]
        for name in names:
            inner = next((child for child in found[-1].children if child.name == name), None)
            if inner is None:
                break
            found.append(inner)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool whose schema goes along, or one that was called without."""

    name: str
    server: str
    schema_tokens: int | None
    """None where the transcript does not hold the schema."""
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
        """The MCP server of the tool that is called."""
        return self.servers.get(call.name) or server_of(call.name, self.client, call.arguments)


def tool_calls(session: Session, thread: Thread) -> ToolCalls:
    """Of a whole thread. O(messages)."""
    calls = [call for message in thread.messages for call in message.calls]
    prompts = {id(request.prompt): request.prompt for request in thread.requests} | {0: thread.prompt}
    servers = {name: server for prompt in prompts.values() for name, server, _ in offered(prompt) if server}
    count = Counter(call.name for call in calls)
    return ToolCalls(session.format, {call.id: call for call in calls}, count, servers)


def breakdown(size: Sizer, pressure: Pressure, buffer: Buffer, calls: ToolCalls) -> Breakdown:
    """Of a buffer with that pressure. O(buffer)."""
    weighed = _BranchWeights(size.estimator, calls, buffer)
    parts = dict(sized(size, pressure, buffer.messages, buffer.prompt))
    total = pressure.tokens or 0
    children = [weighed.root.child(name, "category").node(tokens) for name, tokens in parts.items()]
    children.sort(key=lambda child: -child.tokens)
    if unseen := total - sum(parts.values()):
        children.append(BreakdownNode("unseen", "category", unseen))
    tree = BreakdownNode("buffer", "buffer", total, tuple(range(len(buffer.messages))), tuple(children))
    return Breakdown(tree, tuple(_tools(tree, calls)))


def forget(trees: list[BreakdownNode]) -> None:
    """Empty the list, node by node: 200,000 that nobody holds any more, forgotten at once, would hold the interpreter,
    and every other thread with it, for 0.1 s."""
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
        found = self.children.get((name, kind))
        if found is None:
            found = self.children[name, kind] = _Branch(name, kind)
        return found

    def put(self, path: "Path", at: int | None, weight: float, calls: int = 0) -> None:
        """Some weight of the message at that place (None: of the prompt), below the nodes of that path."""
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
        """With its share of the tokens. Its branches end one by one, as in `forget`."""
        branches = list(self.children.values())
        if len(branches) == 1 and branches[0].kind == "message" and self.kind in ("file", "text"):
            branches = []  # one message: the file says it all
        whole = sum(branch.weight for branch in branches)
        shares = [tokens * (branch.weight / whole if whole else 1 / len(branches)) for branch in branches]
        self.children.clear()
        children = [branches.pop().node(share) for share in reversed(rounded(shares, tokens))][::-1]
        children.sort(key=lambda child: -child.tokens)
        return BreakdownNode(self.name, self.kind, tokens, tuple(self.messages), tuple(children), self.calls)


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
        by, found = self._estimator, segments(message)
        by_path: dict[Category, dict[Path, list[Segment]]] = {}
        for one in found:
            by_path.setdefault(one.category, {}).setdefault(self._path(message, one), []).append(one)
        for category, weight in split(by, message, found).items():
            paths = by_path.get(category) or {(): []}
            shares = [1]
            if len(paths) > 1:
                shares = [self._weigh_segments(by, message, segments) for segments in paths.values()]
            whole = sum(shares) or 1
            for (path, some), share in zip(paths.items(), shares, strict=True):
                calls = sum(isinstance(one.part, ToolCall | ToolResult) for one in some)
                self.root.child(category, "category").put(path, at, weight * share / whole, calls)

    def _path(self, message: Message, one: Segment) -> Path:
        part = one.part
        if one.category in ("memory files", "skills", "reminders"):
            return ((one.label, "text"),) if one.label else ()
        if isinstance(part, ToolCall) and one.category == "tool calls":
            return self._called(part)
        result = message.result
        if result is not None and (isinstance(part, Image) or one.category == "tool results"):
            call = self._here.get(result.call_id) or self._calls.by_id.get(result.call_id)
            return self._called(call) if call is not None else ((_UNKNOWN, "tool"),)
        return ()

    def _called(self, call: ToolCall) -> Path:
        server, subject = self._calls.server(call), subject_of(call)
        above: Path = ((server, "server"),) if server else ()
        below: Path = ((subject, "file"),) if subject else ()
        return (*above, (call.name, "tool"), *below)

    def _prompt(self, buffer: Buffer) -> None:
        """Weighed in tokens: what one weighs brings them to the unit of the messages."""
        by, prompt = self._estimator, buffer.prompt
        unit = _MANY / (by.tokens(_MANY) or _MANY)
        said = system_pieces(by, prompt.system) if prompt.system else ()
        sizes = prompt_categories(by, prompt)
        for (category, label, _), (_, tokens) in zip(said, sizes, strict=False):
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
    found = [
        OfferedTool(name, server, schemas.get((server, name)), calls.count.get(name, 0), called[server, name], tokens)
        for server, name in dict.fromkeys((*schemas, *called))
        for tokens in (used[server, name],)
        if name != _UNKNOWN
    ]
    return sorted(found, key=lambda one: -(one.tokens + (one.schema_tokens or 0)))


def _tool_nodes(category: BreakdownNode) -> Iterator[tuple[str, BreakdownNode]]:
    for child in category.children:
        if child.kind == "tool":
            yield "", child
        elif child.kind == "server":
            yield from ((child.name, one) for one in child.children)
