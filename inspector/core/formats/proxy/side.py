"""Decide whether a request is a step of the conversation or a side call, by a table of known kinds of side calls.

A buffer *after* a compaction mentions summaries, too ("This session is being continued from ...", "Another language
model started to ..."). A summary call is therefore recognised by phrases in its last message or in its system prompt,
never by a single word.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from inspector.core.buffer import Prompt, head
from inspector.core.dialects.dialect import answer_schema
from inspector.core.formats.proxy.bodies import Body
from inspector.core.formats.proxy.keys import name_client, turn_metadata
from inspector.core.message import Message, Opaque, Text
from inspector.core.untyped import object_of, objects_of, text_at, text_of

LOOK = 4_000
"""Number of characters that are searched at the beginning and at the end of each text."""


@dataclass(frozen=True, slots=True)
class RequestSigns:
    """The features of a request that show its purpose."""

    body: Mapping[str, Any] = field(default_factory=dict)
    """The request's top-level fields without the messages."""
    headers: Mapping[str, str] = field(default_factory=dict)
    system: str = ""
    tools: int = 0
    messages: int = 0
    first: str = ""
    """Text of the first user message."""
    last: str = ""
    """Text of the last message, if the user wrote it (or the client in the user's name)."""
    trigger: bool = False
    """Is the request's last item a `compaction_trigger`?"""

    @property
    def limit(self) -> Any:
        """The maximum tokens of the answer that the request sets; None if it sets none."""
        return self.body.get("max_tokens", self.body.get("max_output_tokens"))


def side_kind(signs: RequestSigns) -> str:
    """Return the kind of a side call: title, prewarm, quota probe, ...; empty for a step of the conversation."""
    return next((kind for kind, is_kind in _RULES if is_kind(signs)), "")


def _codex(kind: str) -> Callable[[RequestSigns], bool]:
    return lambda signs: turn_metadata(signs.headers, signs.body).get("request_kind") == kind


def _title(signs: RequestSigns) -> bool:
    if turn_metadata(signs.headers, signs.body).get("thread_source") == "thread_title":
        return True
    if signs.tools:
        return False
    if {"title", "isNewTopic"} & properties(signs.body):
        return True
    texts = "\n".join((signs.system[:LOOK], signs.last[:LOOK], signs.first[:LOOK]))
    return any(lead in texts for lead in _TITLES)


_TITLES = (
    "Generate a title for this conversation",
    "Generate a concise, sentence-case title",
    "You are a title generator",
    "Summarize this coding conversation in under 50 characters",
    "Analyze if this message indicates a new conversation topic",
    "Please write a 5-10 word title",
)


def properties(body: Mapping[str, Any]) -> set[str]:
    """Return the names of the answer's fields if the request demands a JSON schema; empty if it does not."""
    return set(object_of(answer_schema(body), "properties"))


def _schema(*names: str) -> Callable[[RequestSigns], bool]:
    return lambda signs: not signs.tools and not properties(signs.body).isdisjoint(names)


def _compaction(signs: RequestSigns) -> bool:
    if signs.trigger:
        return True
    last = signs.last.lstrip()
    is_summary = last.startswith(_AFTER)
    if last.startswith(_ASKS) and not is_summary:
        return True
    if signs.tools:
        return False
    return _is_summariser(signs.system.lstrip()) or (_asks_for_summary(last) and not is_summary)


def _is_summariser(system: str) -> bool:
    """Is `system` the prompt of a model that only writes summaries?"""
    if system.startswith(_SYSTEMS):
        return True
    beginning = system[:LOOK]
    return "<state_snapshot>" in beginning and "history" in beginning


def _asks_for_summary(last: str) -> bool:
    """Does the last message of a call without tools ask for a summary?"""
    beginning = last[:LOOK]
    end = last[-LOOK:]
    return any(lead in beginning or lead in end for lead in _ASKS_ALONE)


_ASKS = (
    "CRITICAL: Respond with TEXT ONLY",
    "Your task is to create a detailed summary of the conversation",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "Provide a detailed prompt for continuing our conversation above",
)
"""Beginnings of a last message that asks for a summary, in a request that may offer tools."""
_ASKS_ALONE = (
    "Here is the conversation so far",
    "the <state_snapshot>",
    "create a structured context checkpoint summary",
    "Update the existing structured summary",
)
"""Phrases of a last message that asks for a summary, in a request without tools."""
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
"""Beginning of the question that Claude Code's WebSearch tool asks a model."""


def offers_only_search(body: Mapping[str, Any]) -> bool:
    """Is the provider's own web search the only tool that a request offers?"""
    tools = objects_of(body.get("tools"))
    return bool(tools) and all(text_at(tool, "type").startswith("web_search_") for tool in tools)


def _web_search(signs: RequestSigns) -> bool:
    if signs.messages != 1 or not offers_only_search(signs.body):
        return False
    return signs.last.startswith(SEARCH_PROMPT) or name_client(signs.headers) == "claude-code"


_RULES: tuple[tuple[str, Callable[[RequestSigns], bool]], ...] = (
    ("prewarm", lambda signs: signs.body.get("generate") is False),
    ("prewarm", _codex("prewarm")),
    ("compaction", _codex("compaction")),
    ("compaction", lambda signs: signs.headers.get("x-openai-subagent") == "compact"),
    ("compaction", _compaction),
    ("title", _title),
    ("web search", _web_search),
    ("quota probe", lambda signs: signs.limit == signs.messages == 1),
    ("warm-up", lambda signs: signs.messages == 1 and signs.last.strip() == "Warmup"),
    ("router", _schema("complexity_score", "complexity_reasoning", "model_choice")),
    ("next speaker", _schema("next_speaker")),
    ("loop check", _schema("unproductive_state_analysis", "unproductive_state_confidence")),
)


def plain_kind(purpose: str, method: str, path: str) -> str:
    """Return the kind of an exchange that is not a call of the conversation: token count, models, telemetry, ..."""
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
        return "connection check"  # `/v1/responses`: the client tests for a WebSocket
    return "other"


_TELEMETRY = (
    "telemetry",
    "statsig",
    "event_logging",
    "metrics",
    "/analytics",
    "/logs",
    "/otlp",
    "sentry",
    "/track",
)


_TRIGGER = "compaction_trigger"
_HEAD = 6
"""Number of messages at either end of a buffer that are searched for the user's first or last words."""


def signs_of(body: Body, headers: Mapping[str, str]) -> RequestSigns:
    """Return the signs of a request. Costs O(1), because only the ends of a long buffer are read."""
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
    """Return the signs of a request.

    `begun` holds its first messages, `backwards` its last ones with the last message first; `messages` is their number.
    """
    first = begun[:_HEAD]
    last = backwards[:_HEAD]
    return RequestSigns(
        body=fields,
        headers=headers,
        system=prompt.system or _first_words_of("system", first),
        tools=len(prompt.tools or ()),
        messages=messages,
        first=_first_words_of("user", first),
        last=_last_words(last),
        trigger=_is_trigger(last),
    )


def _first_words_of(role: str, messages: Sequence[Message]) -> str:
    return next((message.text for message in messages if message.role == role), "")


def _is_trigger(backwards: Sequence[Message]) -> bool:
    last_parts = backwards[0].parts if backwards else ()
    return any(isinstance(part, Opaque) and part.kind == _TRIGGER for part in last_parts)


def _last_words(backwards: Sequence[Message]) -> str:
    """Return the last text of the user; empty if the model wrote after the user.

    `backwards` holds the last messages, the last one first. Reminders precede the user's text in a message, so the last
    part counts. Claude Code puts system messages after the user's message; they are skipped.
    """
    last: Message | None = None
    for message in backwards:
        if message.role not in ("user", "system"):
            break
        if last is None or message.role == "user":
            last = message
        if message.role == "user":
            break
    texts = [part.text for part in last.parts if isinstance(part, Text)] if last is not None else []
    return texts[-1] if texts else ""


def trigger_of(headers: Mapping[str, str], fields: Mapping[str, Any]) -> str:
    """Return why Codex compacts, in its own word; empty if the request does not say it."""
    return text_of(object_of(turn_metadata(headers, fields), "compaction").get("trigger"))


_INNER = re.compile(r"<(summary|state_snapshot)>\s*(.*)", re.DOTALL)


def gist(messages: Sequence[Message]) -> str:
    """Return the beginning of a summary, used to recognise it in later buffers; empty for a short answer."""
    text = "\n".join(message.text for message in messages if message.role == "assistant").strip()
    inner = _INNER.search(text)
    content = inner[2] if inner else text
    lead = content.partition("</")[0].strip()[:160]
    return lead if len(lead) >= 20 else ""
