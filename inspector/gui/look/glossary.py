"""One plain sentence for each term of the first screen. All tooltips take their sentences from here."""

from collections.abc import Mapping
from types import MappingProxyType

from inspector.core.findings.composition import Category
from inspector.core.tokens.pressure import PressureKind

_KINDS: Mapping[PressureKind, str] = {
    "reported": "Reported: the provider counted these tokens for this request.",
    "predicted": "Predicted: what the provider would report, from its last report and what changed since; the range "
    "says how far such predictions of this session were off.",
    "counted": "Counted: a tokenizer counted the recorded text, because the file reports no token usage.",
    "estimated": "Estimated: a formula estimates the recorded text, because the file reports no token usage.",
    "unknown": "Unknown: the file records nothing here whose tokens could be counted.",
}
_CATEGORIES: Mapping[Category, str] = {
    "system": "System: the instructions that the client sends before every conversation.",
    "tools": "Tools: the definitions of the tools that the model may call, sent with every request.",
    "memory files": "Memory files: project instructions such as CLAUDE.md or AGENTS.md that the client adds.",
    "skills": "Skills: instructions for special tasks that the client adds.",
    "reminders": "Reminders: notes and re-attached files that the client adds, not written by the user.",
    "user": "User: what the user wrote.",
    "assistant": "Assistant: what the model wrote as text.",
    "thinking": "Thinking: the reasoning that the model wrote before its answer.",
    "tool calls": "Tool calls: the calls of the model with all their arguments, such as the text of an edit.",
    "tool results": "Tool results: what the tools returned to the model, such as files, command output and searches.",
    "summaries": "Summaries: what a compaction wrote in place of older messages.",
    "images": "Images: pictures that were sent to the model.",
    "opaque": "Opaque: content that only the provider can read, such as encrypted reasoning.",
    "difference": "Count difference: the file holds everything that was sent, and the "
    "provider counted this many tokens more, or fewer.",
}
_TERMS: Mapping[str, str] = {
    "pressure": "Pressure: how full the context window is, as tokens of the request divided by the window.",
    "window": "Window: the most tokens that the model can take in one request, with room for its answer.",
    "request": "Request: one call of the model with all messages that were sent along.",
    "watermark": "Watermark: a share of the window above which tiers fire; drag it to see which requests would exceed "
    "it, double-click it to reset it.",
    "tier": "Tier: one step by which a policy makes the buffer smaller, from clearing old results to a summary.",
    "due": "Due: by the policy's own count this tier would run now, before the next request.",
    "policy": "Policy: the rules by which a client decides when to compact and what to keep.",
    "own count": "Own count: the tokens that the policy counts by its own formula, by which it decides what is due.",
    "answer reserve": "Answer reserve: room that clients usually keep free for the model's answer.",
    "not recorded": "Not recorded: tokens that the provider counted and the file does not hold.",
    "client trigger": "The size at which the recorded client itself compacted, or compacts by its known rules.",
    "compaction": "Compaction: older messages were cleared, cut or replaced by a summary to make room.",
    "cache miss": "Cache miss: a request re-sent tokens that the provider's cache could have held.",
    "preview": "The tokens that would be left after the selected tier.",
}

GLOSSARY: Mapping[str, str] = MappingProxyType(
    dict((*_TERMS.items(), *_KINDS.items(), *_CATEGORIES.items()))
)
"""The sentences by term, as the term is spelled on the screen."""


def explain(term: str, *details: str) -> str:
    """Return the sentence for a term, followed by details of the case, each on its own line.

    Raises:
        KeyError: There is no sentence for the term.
    """
    return "\n".join((GLOSSARY[term], *filter(None, details)))
