"""The agents of a session: which call started each agent, and the agents' titles.

A sub-agent is identified by its `agentId`, or, in versions before 2.0, by the run of `isSidechain` records that begins
with the prompt of a Task call. The call that started an agent is recorded in one of four places. If none of them holds
it, the latest call with the same prompt before the agent's first record is assumed.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.formats.claude_code.chain_state import ChainState
from inspector.core.session import Thread
from inspector.core.untyped import text_at

MAIN = "main"


class AgentRecords:
    """One agent: its chain of records, and what the file says about who started it."""

    def __init__(self, id_: str) -> None:
        self.id = id_
        self.chain = ChainState()
        self.shaped = False
        """True once an `api-request-shape` record has given system prompt and tools; snapshots are then ignored."""
        self.words = ""
        """The agent's first prompt."""
        self.began = ""
        self.kind = ""
        self.about = ""
        self.call = ""
        """Id of the tool call that started the agent; empty if not recorded."""

    def began_with(self, words: str, time: str) -> None:
        """Set the agent's first prompt and its time. Later calls have no effect."""
        if not self.words and words:
            self.words, self.began = words, time


@dataclass(frozen=True, slots=True)
class Spawn:
    """A tool call that starts an agent."""

    call: str
    owner: str
    words: str
    about: str
    kind: str
    time: str


def origins(agents: Sequence[AgentRecords], spawns: Iterable[Spawn]) -> dict[str, Spawn]:
    """Return the call that started each agent, by agent id."""
    by_call = {spawn.call: spawn for spawn in spawns}
    by_agent = {agent.id: by_call[agent.call] for agent in agents if agent.call in by_call}
    recorded = {spawn.call for spawn in by_agent.values()}
    by_words: dict[str, list[Spawn]] = {}
    for spawn in sorted(by_call.values(), key=lambda spawn: spawn.time):
        if spawn.call not in recorded:
            by_words.setdefault(spawn.words, []).append(spawn)
    for agent in sorted(agents, key=lambda agent: agent.began):
        candidates = by_words.get(agent.words, []) if agent.id not in by_agent else []
        end = (
            bisect_right(candidates, agent.began, key=lambda spawn: spawn.time)
            if agent.began
            else len(candidates)
        )
        n = next((n for n in reversed(range(end)) if candidates[n].owner != agent.id), None)
        if n is not None:
            by_agent[agent.id] = candidates.pop(n)
    return by_agent


def as_thread(agent: AgentRecords, origin: Spawn | None, *, is_main: bool) -> Thread:
    """Return an agent as a thread."""
    requests = agent.chain.requests()
    chain = agent.chain
    model = requests[-1].model if requests else ""
    thread = Thread(
        id=MAIN,
        title=_title(agent, origin),
        model=model,
        requests=requests,
        messages=chain.messages(),
        end=chain.end(),
        prompt=chain.prompt,
        compactions=chain.compactions(),
    )
    if is_main:
        return thread
    parent, parent_call = (origin.owner, origin.call) if origin else (MAIN, agent.call)
    return replace(thread, id=agent.id, parent=parent, parent_call=parent_call)


def _title(agent: AgentRecords, origin: Spawn | None) -> str:
    if agent.id == MAIN:
        return ""
    if agent.words.strip() == "Warmup":
        return "Warmup: fills the prompt cache, has no task"
    kind, about = (origin.kind, origin.about) if origin else (agent.kind, agent.about)
    about = about or agent.words.strip().partition("\n")[0][:80]
    return f"{kind}: {about}" if kind and about else kind or about


def unread_records(data: dict[str, Any], seen: set[str]) -> list[dict[str, Any]]:
    """Return the agent's records that were not read before, in order. Adds their uuids to `seen`."""
    listed = data.get("normalizedMessages")
    new: list[dict[str, Any]] = []
    for inner in reversed(listed) if isinstance(listed, list) else ():
        if text_at(inner, "uuid") in seen:
            break
        new.append(inner)
    return [inner for inner in [*reversed(new), data.get("message")] if _is_fresh(inner, seen)]


def _is_fresh(inner: Any, seen: set[str]) -> bool:
    uuid = text_at(inner, "uuid")
    fresh = bool(uuid) and uuid not in seen and text_at(inner, "type") in ("user", "assistant")
    seen.add(uuid)
    return fresh
