"""The two places in Pulse's loop that compact, and how often they may (spec 2.8)."""

from dataclasses import replace

from inspector.core.buffer import Buffer
from inspector.core.needs import Conversation
from inspector.core.outcome import Outcome
from inspector.core.policies.policy import Moment
from inspector.core.policies.pulse.compaction import TIER, Trigger, compact
from inspector.core.policies.pulse.running import Running
from inspector.core.policies.pulse.settings import Settings
from inspector.core.usage import Usage

LENGTH = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})
"""`finishReason === "length"` in the providers' own words."""


def is_trouble(finish: str, usage: Usage | None, settings: Settings) -> bool:
    """The call ended because of length; with `length_ratio` only where the prompt was that large, too."""
    if finish.lower() not in LENGTH:
        return False
    if not settings.length_ratio:
        return True
    return usage is not None and usage.prompt >= settings.length_ratio * settings.context_window_tokens


def forced(moment: Moment, settings: Settings) -> bool:
    """The call before this one ended in trouble. Safe mode treats a refusal of the buffer in the same way."""
    return is_trouble(moment.finish, moment.usage, settings) or (settings.safe and bool(moment.overflow))


def attempt(
    buffer: Buffer, settings: Settings, running: Running, trigger: Trigger
) -> Conversation[tuple[Outcome[Running], ...]]:
    """One compaction if one is left; empty where none was made. A check that does not compact costs no attempt.

    With `write_back` off the buffer stays: only the attempt and its event remain.
    """
    if running.attempts >= settings.max_compaction_attempts:
        return ()
    outcome = yield from compact(buffer, settings, running, trigger)
    if not outcome.succeeded:
        return ()
    running = replace(outcome.running, attempts=running.attempts + 1)
    if not settings.write_back:
        return (Outcome(TIER, buffer, running, outcome.events, True, outcome.error),)
    return (replace(outcome, running=running),)


def before_call(
    buffer: Buffer, settings: Settings, running: Running, after_trouble: bool
) -> Conversation[tuple[Outcome[Running], ...]]:
    """The way from the end of one model call to the next: forced where that one ended in trouble, then while due."""
    done: tuple[Outcome[Running], ...] = ()
    if after_trouble:
        done = yield from attempt(buffer, settings, running, "length-retry")
    while True:
        last = done[-1] if done else Outcome(TIER, buffer, running)
        more = yield from attempt(last.buffer, settings, last.running, "pre-loop")
        if not more:
            return done
        done += more
