"""Read the records of a Claude Code session: route each record to its agent and build the session so far."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from inspector.core.formats.claude_code.agents import (
    MAIN,
    AgentRecords,
    Spawn,
    as_thread,
    origins,
    unread_records,
)
from inspector.core.formats.claude_code.chain import (
    is_copy,
    pass_by,
    take_answer,
    take_attachment,
    take_copy,
    take_system,
    take_user,
)
from inspector.core.formats.claude_code.chain_nodes import AnswerNode
from inspector.core.formats.claude_code.records import ChainRecord, ProblemLog, SignLog
from inspector.core.formats.claude_code.sent import (
    SentRequests,
    WireRecords,
    read_replacements,
    read_snapshot,
)
from inspector.core.message import ToolCall
from inspector.core.prefix import Prefix
from inspector.core.session import BEGINS_LATE, Session, Thread
from inspector.core.untyped import object_of, text_at

NAME = "claude-code"

_SILENT = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "atis-latch",
        "attribution-snapshot",
        "control_cancel_request",
        "control_request",
        "control_response",
        "cost-state",
        "custom-title",
        "file-history-snapshot",
        "frame-link",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "queue-operation",
        "rate_limit_event",
        "result",
        "stream_event",
        "summary",
        "tag",
        "task-summary",
        "tools-used",
        "worktree-state",
    }
)
"""Types of records that the model never reads: titles, snapshots, states of the user interface."""

_CHAINED = frozenset({"user", "assistant", "system", "attachment", "progress"})
"""Types of records that belong to a chain."""

_SPAWNING = frozenset({"Task", "Agent"})
"""Names of the tools that start a sub-agent."""


class ClaudeCodeReader:
    """Collects the records of a Claude Code session and of its sub-agents."""

    def __init__(self) -> None:
        self._main = AgentRecords(MAIN)
        self._agents: dict[str, AgentRecords] = {}
        self._repeated: dict[str, AgentRecords] = {}
        """Sub-agents as their parent recorded them (agent_progress): used if their own records are missing."""
        self._repeated_uuids: set[str] = set()
        self._inline: dict[str, AgentRecords] = {}
        """Runs of sidechain records without an agent id, by uuid of each record."""
        self._last_inline: AgentRecords | None = None
        self._call_of: dict[str, str] = {}
        """The tool call that started an agent, by agent id."""
        self._spawns: dict[str, Spawn] = {}
        self._wire = WireRecords()
        self._findings = ProblemLog()
        self._signs = SignLog()
        self._shared: set[str | None] = set()
        """uuids that different records share. Parent links to such a uuid are ignored."""
        self._notes: list[str] = []
        self._missing: dict[str, int] = {}
        """Parents not yet read when a child was read: uuid of the parent, and line of its first child."""
        self._version = ""
        self._versions: dict[str, None] = {}
        self._id: Any = ""
        self._begun = self._begins_late = False

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take one parsed line. O(size of the record)."""
        if file and file.endswith(".meta.json"):
            return self._take_meta(value, file)
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str):
            return self._findings.add("not a record with a type", line, value, file)
        if kind in _CHAINED:
            return self._take(kind, ChainRecord(value, line, file))
        if kind not in _SILENT:
            self._take_unchained(kind, line, value, file)
        return None

    def _take(self, kind: str, record: ChainRecord) -> None:
        agent = self._agent(record)
        if not record.file:
            self._note_session(record)
        if agent is self._main:
            self._signs.take(kind, record)
            if (
                record.parent
                and record.parent not in agent.chain.nodes
                and not agent.chain.is_empty()
            ):
                self._missing.setdefault(record.parent, record.line)
        if self._shared and record.parent in self._shared:
            record.parent = ""
        if record.uuid in agent.chain.nodes and self._is_copy(record, agent):
            take_copy(agent.chain, record)
        elif kind == "assistant":
            self._take_answer(record, agent)
        elif kind == "user":
            self._take_user(record, agent)
        else:
            self._take_other(kind, record, agent)

    def _note_session(self, record: ChainRecord) -> None:
        """Note the session's id and the client's version."""
        value = record.value
        self._id = value["sessionId"] if "sessionId" in value else value.get("session_id", self._id)
        if not self._begun:
            self._begin(record)
        version = value["version"] if "version" in value else value.get("claude_code_version")
        if version != self._version and isinstance(version, str):
            self._version = version
            self._versions[version] = None

    def _is_copy(self, record: ChainRecord, agent: AgentRecords) -> bool:
        """Is a record with a known uuid a copy? If not, give the record a new uuid and treat the uuid as shared."""
        shared = record.uuid in self._shared
        if is_copy(agent.chain, record) and (
            not shared or record.value.get("type") in ("user", "assistant")
        ):
            return True
        what = "records that say different things share one uuid: they are taken in the order of the file"
        self._findings.add_kind(what, record.line, record.value, record.file)
        self._shared.add(record.uuid)
        if record.parent in self._shared:
            record.parent = ""
        record.uuid = f"{record.uuid}@{record.line}"
        return False

    def _begin(self, record: ChainRecord) -> None:
        self._begun = True
        if record.parent:
            self._begins_late = True
            self._notes.append(BEGINS_LATE)
        if text_at(record.value, "sessionId").startswith("session-"):
            self._main.chain.listed = (
                True  # iFlow: all answers of a turn name the prompt as their parent
            )
        if record.value.get("subtype") == "init" and "tools" in record.value:
            self._notes.append(
                "This is the output of `claude -p`: it holds the user's input only if that was requested."
            )

    def _take_answer(self, record: ChainRecord, agent: AgentRecords) -> None:
        reference = record.value.get("requestRef")
        agent.chain.request = reference if isinstance(reference, str) else ""
        for call in take_answer(agent.chain, record, self._findings):
            if call.name in _SPAWNING:
                self._spawns[call.id] = _read_spawn(call, agent, record)
            elif agent is self._main:
                self._signs.take_call(call, record)
        if isinstance(reference, str) and isinstance(
            node := agent.chain.nodes[record.uuid], AnswerNode
        ):
            node.prompt = self._wire.prompt(reference) or node.prompt

    def _take_user(self, record: ChainRecord, agent: AgentRecords) -> None:
        if agent is not self._main:
            agent.began_with(_words(record), record.time)
        take_user(agent.chain, record, self._findings)
        result = record.value.get("toolUseResult")
        if isinstance(result, dict) and (agent_id := text_at(result, "agentId")):
            content = object_of(record.value, "message").get("content")
            if isinstance(content, list) and content:
                self._call_of.setdefault(agent_id, text_at(content[0], "tool_use_id"))

    def _take_other(self, kind: str, record: ChainRecord, agent: AgentRecords) -> None:
        match kind:
            case "attachment":
                attachment = object_of(record.value, "attachment")
                if not agent.shaped and attachment.get("type") == "prompt_snapshot":
                    agent.chain.prompt = read_snapshot(attachment, agent.chain.prompt)
                take_attachment(agent.chain, record, self._findings)
            case "system":
                take_system(agent.chain, record, self._findings)
            case _:
                pass_by(agent.chain, record)
                self._take_progress(record)

    # ---- the agent of a record -------------------------------------------------------------------------------------

    def _agent(self, record: ChainRecord) -> AgentRecords:
        call = record.value.get("parent_tool_use_id")
        if call and isinstance(call, str):  # a sub-agent's record, printed by `claude -p`
            self._call_of[call] = call
            return self._named(call, self._agents)
        if record.value.get("isSidechain") is not True and not record.file:
            return self._main
        id_ = text_at(record.value, "agentId") or record.file.rpartition("/")[2].removesuffix(
            ".jsonl"
        )
        return self._named(id_, self._agents) if id_ else self._inline_agent(record)

    def _named(self, id_: str, agents: dict[str, AgentRecords]) -> AgentRecords:
        id_ = f"{id_}~" if id_ == MAIN else id_
        agent = agents.get(id_)
        if agent is None:
            agent = agents[id_] = AgentRecords(id_)
        return agent

    def _inline_agent(self, record: ChainRecord) -> AgentRecords:
        """Return the agent of a sidechain record without an agent id; a new agent if the record begins a run."""
        agent = (
            self._inline.get(record.uuid)
            or self._inline.get(record.parent or "")
            or self._last_inline
        )
        begins = not record.parent or record.parent in self._main.chain.nodes
        if agent is None or (begins and record.uuid not in self._inline):
            agent = self._named(f"side-{len(self._agents) + 1}", self._agents)
        self._inline[record.uuid] = self._last_inline = agent
        return agent

    # ---- the origin of agents --------------------------------------------------------------------------------------

    def _take_meta(self, value: Any, file: str) -> None:
        id_ = file.rpartition("/")[2].removesuffix(".meta.json").removeprefix("agent-")
        agent = self._named(id_, self._agents)
        agent.kind, agent.about = text_at(value, "agentType"), text_at(value, "description")
        if call := text_at(value, "toolUseId"):
            self._call_of[id_] = call

    def _take_progress(self, record: ChainRecord) -> None:
        """Take an `agent_progress` record, in which the parent repeats records of the sub-agent."""
        data = record.value.get("data")
        if not isinstance(data, dict) or data.get("type") != "agent_progress":
            return
        id_ = text_at(data, "agentId")
        if not id_:
            return
        if call := text_at(record.value, "parentToolUseID"):
            self._call_of.setdefault(id_, call)
        agent = self._named(id_, self._repeated)
        agent.began_with(text_at(data, "prompt"), record.time)
        for inner in unread_records(data, self._repeated_uuids):
            take = take_answer if inner.get("type") == "assistant" else take_user
            take(agent.chain, ChainRecord(inner, record.line), self._findings)

    # ---- records outside the chain -----------------------------------------------------------------------------------

    def _take_unchained(self, kind: str, line: int, value: dict[str, Any], file: str) -> None:
        agent_id = text_at(value, "agentId")
        agent = self._named(agent_id, self._agents) if agent_id else self._main
        match kind:
            case "api-request-shape":
                agent.chain.prompt, agent.shaped = self._wire.add_shape(value), True
            case "api-request":
                self._wire.add_request(value)
                agent.chain.sent = agent.chain.sent or SentRequests(self._wire)
            case "api-request-blob":
                self._wire.add_blob(value)
            case "content-replacement":
                agent.chain.rewrite(read_replacements(value))
            case _:
                self._findings.add_kind(f"unknown record type {kind[:40]!r}", line, value, file)

    # ---- the session so far ------------------------------------------------------------------------------------------

    def session(self) -> Session:
        """Return the session so far. O(agents), not O(records): it shares what the chains hold."""
        versions = list(self._versions)
        version = " to ".join(dict.fromkeys([*versions[:1], *versions[-1:]]))
        session_id = self._id if isinstance(self._id, str) else ""
        notes = (*self._notes, *self._note_missing())
        problems = Prefix(self._findings.problems)
        signs = Prefix(self._signs.signs)
        return Session(
            format=NAME,
            threads=self._threads(),
            problems=problems,
            client=f"Claude Code {version}".strip(),
            id=session_id,
            notes=notes,
            signs=signs,
        )

    def _threads(self) -> tuple[Thread, ...]:
        agents = list(self._agents.values())
        agents += [agent for id_, agent in self._repeated.items() if id_ not in self._agents]
        agents = [agent for agent in agents if not agent.chain.is_empty()]
        agents.sort(key=lambda agent: agent.began)
        for agent in agents:
            agent.call = self._call_of.get(agent.id, "")
        first = agents.pop(0) if agents and self._main.chain.is_empty() else self._main
        spawns = origins(agents, self._spawns.values()) if agents else {}
        threads = [
            as_thread(agent, spawns.get(agent.id), is_main=agent is first)
            for agent in (first, *agents)
        ]
        threads[0] = replace(threads[0], begins_late=self._begins_late)
        return tuple(threads)

    def _note_missing(self) -> Iterator[str]:
        """Yield a note if parents of records are not in the file. Parents that come later are not missing."""
        chain = self._main.chain
        lines = (
            []
            if chain.listed
            else [line for uuid, line in self._missing.items() if uuid not in chain.nodes]
        )
        if lines:
            verb = "is" if len(lines) == 1 else "are"
            which = f"{len(lines)} of the records that others follow {verb}"
            yield f"{which} not in this file (line {lines[0]}): later buffers are incomplete."


def _words(record: ChainRecord) -> str:
    """Return the text blocks of a user record, joined by newlines."""
    content = object_of(record.value, "message").get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(filter(None, (text_at(block, "text") for block in blocks)))


def _read_spawn(call: ToolCall, agent: AgentRecords, record: ChainRecord) -> Spawn:
    words, about, kind = (
        text_at(call.arguments, key) for key in ("prompt", "description", "subagent_type")
    )
    return Spawn(call.id, owner=agent.id, words=words, about=about, kind=kind, time=record.time)
