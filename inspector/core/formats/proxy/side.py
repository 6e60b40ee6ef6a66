"""Is it a step of the conversation, or a call beside it? By what the request itself says, as a table of known cases.

Trap: texts that stand in the buffer *after* a compaction speak of summaries, too ("This session is being continued from
...", "Another language model started to ..."). So a call for a summary is known by how its last message or its system
prompt begins, never by a word somewhere.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from inspector.core.buffer import Prompt, head
from inspector.core.dialects.dialect import answer_schema
from inspector.core.formats.proxy.bodies import Body
from inspector.core.formats.proxy.keys import client_of, turn_metadata
from inspector.core.message import Message, Opaque, Text
from inspector.core.untyped import object_of, objects_of, text_at, text_of

LOOK = 4_000
"""Characters of each text that are looked at, from its beginning and from its end."""


@dataclass(frozen=True, slots=True)
class RequestSigns:
    """What a request says, as far as it shows what the request is for."""

    body: Mapping[str, Any] = field(default_factory=dict)
    """Its top-level fields, but for the messages."""
    headers: Mapping[str, str] = field(default_factory=dict)
    system: str = ""
    tools: int = 0
    messages: int = 0
    first: str = ""
    """Text of the first user message."""
    last: str = ""
    """Text of the last message, where the user (or the client in the user's name) wrote it."""
    trigger: bool = False
    """The last item is a `compaction_trigger`."""

    @property
    def limit(self) -> Any:
        """Tokens of the answer, at most."""
        return self.body.get("max_tokens", self.body.get("max_output_tokens"))


def side_kind(asked: RequestSigns) -> str:
    """title, prewarm, quota probe, web search, compaction, ...; empty for a step of the conversation."""
    return next((kind for kind, told in _RULES if told(asked)), "")


def _codex(kind: str) -> Callable[[RequestSigns], bool]:
    return lambda asked: turn_metadata(asked.headers, asked.body).get("request_kind") == kind


def _title(asked: RequestSigns) -> bool:
    if turn_metadata(asked.headers, asked.body).get("thread_source") == "thread_title":
        return True
    if asked.tools:
        return False
    if {"title", "isNewTopic"} & properties(asked.body):
        return True
    told = "\n".join((asked.system[:LOOK], asked.last[:LOOK], asked.first[:LOOK]))
    return any(lead in told for lead in _TITLES)


_TITLES = (
    "Generate a title for this conversation",
    "Generate a concise, sentence-case title",
    "You are a title generator",
    "Summarize this coding conversation in under 50 characters",
    "Analyze if this message indicates a new conversation topic",
    "Please write a 5-10 word title",
)


def properties(body: Mapping[str, Any]) -> set[str]:
    """The fields that the answer must have, where it must keep to a JSON schema."""
    return set(object_of(answer_schema(body), "properties"))


def _schema(*names: str) -> Callable[[RequestSigns], bool]:
    return lambda asked: not asked.tools and not properties(asked.body).isdisjoint(names)


def _compaction(asked: RequestSigns) -> bool:
    if asked.trigger:
        return True
    last = asked.last.lstrip()
    if last.startswith(_ASKS) and not last.startswith(_AFTER):
        return True
    if asked.tools:
        return False
    system = asked.system.lstrip()
    if system.startswith(_SYSTEMS) or ("<state_snapshot>" in system[:LOOK] and "history" in system[:LOOK]):
        return True
    return any(lead in last[:LOOK] or lead in last[-LOOK:] for lead in _ASKS_ALONE) and not last.startswith(_AFTER)


_ASKS = (
    "CRITICAL: Respond with TEXT ONLY",
    "Your task is to create a detailed summary of the conversation",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "Provide a detailed prompt for continuing our conversation above",
)
"""How a client asks for a summary as the last message of the conversation, tools and all."""
_ASKS_ALONE = (
    "Here is the conversation so far",
    "the <state_snapshot>",
    "create a structured context checkpoint summary",
    "Update the existing structured summary",
)
"""What stands in such a message where the call has no tools."""
_SYSTEMS = (
    "You are a context summarization assistant",
    "You are an anchored context summarization assistant",
    "You are a helpful AI assistant tasked with summarizing conversations",
    "*Briefly* summarize this partial conversation",
    "You are a specialized system component responsible for distilling chat history",
    "You are the component that summarizes internal chat history",
)
_AFTER = (
    "This session is being continued",
    "Another language model started to solve",
    "The conversation history before this point was compacted",
    "The following is a summary",
)

SEARCH_PROMPT = "Perform a web search for the query:"
"""How Claude Code's tool WebSearch begins its question to a model of its own."""


def offers_only_search(body: Mapping[str, Any]) -> bool:
    """Is the provider's own web search the only tool that a request offers?"""
    tools = objects_of(body.get("tools"))
    return bool(tools) and all(text_at(tool, "type").startswith("web_search_") for tool in tools)


def _web_search(asked: RequestSigns) -> bool:
    if asked.messages != 1 or not offers_only_search(asked.body):
        return False
    return asked.last.startswith(SEARCH_PROMPT) or client_of(asked.headers) == "claude-code"


_RULES: tuple[tuple[str, Callable[[RequestSigns], bool]], ...] = (
    ("prewarm", lambda asked: asked.body.get("generate") is False),
    ("prewarm", _codex("prewarm")),
    ("compaction", _codex("compaction")),
    ("compaction", lambda asked: asked.headers.get("x-openai-subagent") == "compact"),
    ("compaction", _compaction),
    ("title", _title),
    ("web search", _web_search),
    ("quota probe", lambda asked: asked.limit == asked.messages == 1),
    ("warm-up", lambda asked: asked.messages == 1 and asked.last.strip() == "Warmup"),
    ("router", _schema("complexity_score", "complexity_reasoning", "model_choice")),
    ("next speaker", _schema("next_speaker")),
    ("loop check", _schema("unproductive_state_analysis", "unproductive_state_confidence")),
)


def plain_kind(purpose: str, method: str, path: str) -> str:
    """The kind of an exchange that is no call of a model at all."""
    where = path.partition("?")[0].rstrip("/").lower()
    if purpose == "count":
        return "token count"
    if purpose == "compact":
        return "compaction"
    if where.endswith("/models") or "/models/" in where:
        return "models"
    if any(word in where for word in _TELEMETRY):
        return "telemetry"
    if method.upper() == "HEAD" or where in ("", "/api/hello") or where.endswith("/v1/responses"):
        return "connection check"  # the last: is a WebSocket spoken there?
    return "other"


_TELEMETRY = ("telemetry", "statsig", "event_logging", "metrics", "/analytics", "/logs", "/otlp", "sentry", "/track")


_TRIGGER = "compaction_trigger"
_HEAD = 6
"""Messages in which the first words of the user are looked for."""


def signs_of(body: Body, headers: Mapping[str, str]) -> RequestSigns:
    """O(1): of a long buffer only its ends are looked at."""
    view = body.view
    ends = head(view, _HEAD), tuple(islice(view.backwards(), _HEAD))
    return read_signs(body.fields, headers, body.prompt, *ends, view.length - body.start)


def read_signs(
    fields: Mapping[str, Any],
    headers: Mapping[str, str],
    prompt: Prompt,
    begun: Sequence[Message],
    backwards: Sequence[Message],
    messages: int,
) -> RequestSigns:
    """By a request's first messages, and its last ones from the last one back."""
    begun, backwards = begun[:_HEAD], backwards[:_HEAD]
    return RequestSigns(
        body=fields,
        headers=headers,
        system=prompt.system or next((message.text for message in begun if message.role == "system"), ""),
        tools=len(prompt.tools or ()),
        messages=messages,
        first=next((message.text for message in begun if message.role == "user"), ""),
        last=_last_words(backwards),
        trigger=any(isinstance(one, Opaque) and one.kind == _TRIGGER for last in backwards[:1] for one in last.parts),
    )


def _last_words(backwards: Sequence[Message]) -> str:
    """What the user said last, of the messages from the last one back; empty after words of the model's.

    The last part of it: reminders travel in front. Claude Code puts system messages after it.
    """
    found = None
    for message in backwards:
        if message.role not in ("user", "system"):
            break
        found = message if found is None or message.role == "user" else found
        if message.role == "user":
            break
    texts = [part.text for part in found.parts if isinstance(part, Text)] if found is not None else []
    return texts[-1] if texts else ""


def trigger_of(headers: Mapping[str, str], fields: Mapping[str, Any]) -> str:
    """Why the client compacts, in its own word (Codex says it); empty where it does not say."""
    return text_of(object_of(turn_metadata(headers, fields), "compaction").get("trigger"))


_INNER = re.compile(r"<(summary|state_snapshot)>\s*(.*)", re.DOTALL)


def gist(messages: Sequence[Message]) -> str:
    """How a summary begins, so that it is known again in the buffer it becomes part of; empty for a short answer."""
    text = "\n".join(message.text for message in messages if message.role == "assistant").strip()
    inner = _INNER.search(text)
    begun = (inner[2] if inner else text).partition("</")[0].strip()[:160]
    return begun if len(begun) >= 20 else ""
