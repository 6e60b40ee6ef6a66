"""The sentences about the cause and the evidence of a cache miss. `breaks` finds the cause; this file words it."""

from collections.abc import Mapping, Sequence

from inspector.core.session import Sign, SignKind
from inspector.core.usage import FIVE_MINUTES_S, HOUR_S
from inspector.core.words import duration


def say_model_changed(former: str, now: str) -> str:
    """Say that the requests went to different models."""
    return f"The model changed from {former} to {now}; each model has its own cache."


def say_expired(pause_s: float, ttl_s: int) -> str:
    """Say that the pause was longer than the lifetime with which the cache was written."""
    lifetime = "1 hour" if ttl_s == HOUR_S else "5 minutes"
    return f"The cache expired: {duration(pause_s)} since the previous request; its entries expire after {lifetime}."


def say_usually_expired(pause_s: float, rule: str) -> str:
    """Say that the pause was longer than this provider usually keeps its cache.

    Args:
        pause_s: the pause in seconds.
        rule: the clause of `catalogue.cache_life` about the lifetime.
    """
    return f"The cache probably expired: {duration(pause_s)} since the previous request; such a cache {rule}."


def say_reading_stopped(read: int, ended: int | None = None, head: int | None = None) -> str:
    """Say where reading from the cache stopped.

    Args:
        read: tokens that were read.
        ended: the request whose prompt ended there; None if none did.
        head: tokens that the first request of the session read, if that is where reading stopped; 0 if reading stopped
            somewhere else before the end of the first prompt.
    """
    if not read:
        return "Nothing was read from the cache, not even the system prompt and the tools."
    where = f"{read:,} tokens were read from the cache"
    if ended is not None:
        return f"{where}, up to the end of request {ended:,}."
    if head:
        return f"{where}, as many as the first request read ({head:,}), and fewer than the first prompt holds."
    if head is not None:
        return f"{where}, fewer than the first prompt holds."
    return f"{where}."


def say_unread_before(changed: str, unread: int, rest: str) -> str:
    """Say that a message changed, but that most tokens that were not read come before that message."""
    return f"{changed} But {unread:,} tokens before that message were not read from the cache either. {rest}"


def say_message_changed(reason: str, place: int, count: int) -> str:
    """Say that the prompt differs from a message on. `reason`: why, as a sentence; empty if not known."""
    why = reason or "Messages were removed or changed."
    return f"{why} The prompt differs from message {place:,} of {count:,} on."


def say_tools_changed(removed: Sequence[str], added: Sequence[str], changed: Sequence[str]) -> str:
    """Say that the tool definitions changed."""
    groups = (("removed", removed), ("added", added), ("changed", changed))
    words = [f"{word} {', '.join(names[:8])}" for word, names in groups if names]
    return f"The tool definitions changed: {'; '.join(words) or 'their order'}."


def say_system_changed() -> str:
    """Say that the system prompt changed."""
    return "The system prompt changed."


def say_effort_is_prompt(effort: str, stopped: str) -> str:
    """Say that the reasoning effort changed, which OpenAI counts as part of the beginning of the prompt."""
    return f"{effort} {stopped} OpenAI documents that the reasoning effort is part of the beginning of the prompt."


def say_unknown(stopped: str, pause_s: float | None, *, is_written: bool, beside: str) -> str:
    """Say that nothing in the file explains the miss.

    Args:
        stopped: where reading stopped, as a sentence.
        pause_s: seconds since the previous request; None if not recorded.
        is_written: does the provider keep what the client tells it to keep?
        beside: settings that changed, as sentences; empty if none did.
    """
    promise = "" if is_written else "The provider does not promise how long it keeps this cache."
    return _join(_say_unexplained(stopped, pause_s), promise, beside)


def say_unrecorded_change(stopped: str, pause_s: float | None, place: int, beside: str) -> str:
    """Say that something not recorded changed, from message `place` on; 0: before the first message."""
    what = "something that the file does not record probably changed (system prompt, tools, parameters)"
    if place:
        what = f"from message {place:,} on, {what}"
    return _join(_say_unexplained(stopped, pause_s), beside, f"{what[0].upper()}{what[1:]}.")


def _say_unexplained(stopped: str, pause_s: float | None) -> str:
    if pause_s is None:
        return f"{stopped} No recorded message changed; the time since the previous request is not recorded."
    only = "only " if pause_s <= FIVE_MINUTES_S else ""
    pause = f"although {only}{duration(pause_s)} had passed"
    return f"{stopped.removesuffix('.')}, {pause} and no recorded message changed."


def say_another_cache(stopped: str, held: str) -> str:
    """Say that the provider still had the prompt in another of its caches. `held`: the evidence, as a sentence."""
    return f"{stopped} {held} So the provider still had that prompt, but answered from another of its caches."


def say_read_again(later: int, read: int, old: int) -> str:
    """Say that a later request read from the cache what this request did not."""
    return f"Request {later} read {read:,} tokens again, up to the end of request {old}."


def say_read_before(earlier: int, read: int) -> str:
    """Say that an earlier request had read further into the same prompt."""
    return f"Request {earlier} had read {read:,} tokens of the same prompt."


def say_signs(signs: Sequence[Sign], kind: SignKind) -> str:
    """Return the last three recorded events of a kind as a sentence; empty if there are none."""
    listed = dict.fromkeys(f"{sign.what} (line {sign.line})" for sign in signs if sign.kind == kind)
    words = "; ".join(list(listed)[-3:])
    return f"{words[0].upper()}{words[1:]}." if words else ""


def _join(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def say_cause(cause: str, pause_s: float | None, life_s: float | None, *, inferred: bool) -> str:
    """Say why a request missed the cache, as a clause: `the model changed`."""
    if cause == "expired" and pause_s is not None:
        expires = (
            f"the cache expires after {duration(life_s)}" if life_s else "the cache had expired"
        )
        return f"the pause was {duration(pause_s)} and {expires}"
    if cause == "prefix-changed" and inferred:
        return "something early in the prompt changed that the file does not record"
    return _CAUSES[cause]


_CAUSES: Mapping[str, str] = {
    "expired": "the cache had expired",
    "prefix-changed": "an earlier message changed",
    "model-changed": "the model changed, and each model has its own cache",
    "tools-changed": "the system prompt or the tools changed",
    "compaction": "a compaction replaced earlier messages",
    "restart": "the client was restarted",
    "other-cache": "the provider answered from another of its caches",
    "unknown": "the file does not show why",
}
