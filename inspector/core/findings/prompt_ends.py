"""Compare the place where the provider stopped reading a prompt with the ends of the prompts of other requests."""

from collections.abc import Sequence
from typing import NamedTuple

from inspector.core.buffer import is_prefix, shared
from inspector.core.findings import break_words
from inspector.core.session import Request, Thread, seconds_between
from inspector.core.usage import FIVE_MINUTES_S, Usage

NEAR = 700
"""Tokens by which reading may end before the end of the cached prompt (blocks, rounding)."""
AROUND = 64
"""Requests before and after a cache miss whose counts are compared."""


class PromptEnd(NamedTuple):
    """A request, and the tokens of its whole prompt."""

    tokens: int
    request: Request


def is_short(pause_s: float | None) -> bool:
    """Is the pause known, and too short for cache entries to expire?"""
    return pause_s is not None and pause_s <= FIVE_MINUTES_S


def find_prompt_end(ends: Sequence[PromptEnd], request: Request, read: int) -> Request | None:
    """Return the newest shorter request whose prompt ended where reading stopped; None if there is none."""
    for end in reversed(ends):
        former = end.request
        if _is_end(end.tokens, read) and len(former.view) < len(request.view):
            return former if len(former.view) else None
    return None


def find_later_read(
    thread: Thread, ends: Sequence[PromptEnd], request: Request, usage: Usage
) -> str:
    """Name a later request that read an entry that only requests before this one can have written; else empty."""
    former = _list_former(ends, request)
    next_index = request.index + 1
    time = request.time
    for later in thread.requests[next_index : next_index + AROUND]:
        pause = seconds_between(time, later.time)
        time = later.time
        if later.usage is None or later.model != request.model or not is_short(pause):
            break
        if not is_prefix(request.view, later.view):
            break
        read = later.usage.cache_read
        is_further = read > usage.cache_read + NEAR and not _is_end(usage.prompt, read)
        if not is_further:
            continue
        for end in reversed(former):
            if _is_end(end.tokens, read):
                return break_words.say_read_again(later.index, read, end.request.index)
    return ""


def find_earlier_read(ends: Sequence[PromptEnd], request: Request, usage: Usage) -> str:
    """Name an earlier request that had read further, if reading stopped at the end of an older prompt; else empty.

    Also empty if prompts end so close together that any place is the end of one, and at the beginning of a turn,
    because unrecorded thinking may have been removed there, which begins at the end of a prompt.
    """
    former = _list_former(ends, request)
    if not former:
        return ""
    added = request.view.tail(len(former[-1].request.view))
    if any(message.role == "user" for message in added):
        return ""
    further = [
        earlier.request
        for earlier in former
        if earlier.request.usage is not None
        and earlier.request.usage.cache_read > usage.cache_read + NEAR
    ]
    gap = _find_gap(former, usage.cache_read)
    if not further or gap is None or gap <= 2 * NEAR:
        return ""
    newest = further[-1]
    read = newest.usage.cache_read if newest.usage is not None else 0
    return break_words.say_read_before(newest.index, read)


def _find_gap(former: Sequence[PromptEnd], read: int) -> int | None:
    """Return the tokens from the end of the newest prompt that ends at `read` to the next end; None if none does."""
    for place in range(len(former) - 2, -1, -1):
        if _is_end(former[place].tokens, read):
            return former[place + 1].tokens - former[place].tokens
    return None


def _list_former(ends: Sequence[PromptEnd], request: Request) -> Sequence[PromptEnd]:
    """List the last requests whose whole prompt is the beginning of this one."""
    return [
        end
        for end in ends[-AROUND:]
        if shared(end.request.view, request.view) == len(end.request.view)
    ]


def _is_end(end: int, read: int) -> bool:
    """Did reading stop at the end of a prompt of `end` tokens?"""
    return -NEAR // 7 <= end - read <= NEAR
