"""Has the model refused the buffer as too long, in whatever words or in none (spec 3.8)."""

import re

from inspector.core.usage import Usage

RETRY_DELAY_MS = 100
MAX_ATTEMPTS = 1

_PHRASES = re.compile(
    r"(?i)prompt is too long|input is too long for requested model|exceeds the context window"
    r"|input token count.*exceeds the maximum|maximum prompt length is \d+|reduce the length of the messages"
    r"|maximum context length is \d+ tokens|exceeds the limit of \d+|exceeds the available context size"
    r"|greater than the context length|context window exceeds limit|exceeded model token limit"
    r"|too large for model with \d+ maximum context length|model_context_window_exceeded"
    r"|context[_ ]length[_ ]exceeded|too many tokens|token limit exceeded"
)
_NO_BODY = re.compile(r"(?i)^4(?:00|13)\s*(?:status code)?\s*\(no body\)")


def says_overflow(error: str) -> bool:
    """Does an error's text tell of an overflow? A 429 never does, unless its text says so."""
    return bool(_PHRASES.search(error) or _NO_BODY.match(error))


def is_overflow(finish: str, error: str = "", usage: Usage | None = None, window: int = 0) -> bool:
    """Of an answer: refused with an error, or (silently) cut by the provider to its window."""
    if finish == "error":
        return says_overflow(error)
    silent = finish in ("stop", "end_turn") and usage is not None and window > 0
    return silent and usage is not None and usage.input + usage.cache_read > window


def needs_recovery(finish: str, error: str, usage: Usage | None, window: int, answered_by: str, selected: str) -> bool:
    """isContextOverflow, and the answer is from the model that is selected now: another may have a larger window."""
    return answered_by == selected and is_overflow(finish, error, usage, window)
