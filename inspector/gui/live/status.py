"""The status of a run, a proxy or a span receiver: the one description that all parts of the window show.

No Qt here.
"""

from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Literal, TypeAlias

from inspector.core.words import per_cent, plural
from inspector.gui.look.number_formats import error_words, grouped
from inspector.gui.look.visible import line
from inspector.workbench.live import ProxyView, ReceiverView, RunView
from inspector.workbench.words.live_words import next_tier_words, summarise_run

if TYPE_CHECKING:  # loaded with the first run only
    from inspector.agent.status import End, RunState, RunStatus

LiveKind: TypeAlias = Literal["runs", "waits", "good", "bad"]
"""The kind of a status, which determines its colour. waits: for the user; good, bad: ended with or without success."""
PAUSING = "the run will pause before the next tier, model call or tool"
RUN_IS_ACTIVE = "A run is under way: stop that run before you start another."
NO_PROXY = "No proxy is running: start one with “Watch an agent…”."
_LONGEST = 500
"""Maximum number of characters of one detail."""
_STATES: "dict[RunState, tuple[LiveKind, str]]" = {
    "starting": ("runs", "▶ starting"),
    "calling": ("runs", "▶ the model answers"),
    "tool": ("runs", "▶ a tool runs"),
    "tier": ("runs", "▶ a tier runs"),
    "paused": ("waits", "‖ paused"),
    "asking": ("waits", "? asks you"),
    "needing": ("waits", "? asks you"),
}
_ENDS: "dict[End, tuple[LiveKind, str]]" = {
    "": ("good", "■ ended"),
    "done": ("good", "✓ done"),
    "error": ("bad", "✗ failed"),
    "stopped": ("waits", "■ stopped"),
    "max turns": ("waits", "■ turn limit"),
}


@dataclass(frozen=True, slots=True)
class LiveStatus:
    """The status of a run, a proxy or a receiver."""

    name: str
    """`Run`, `Proxy` or `Receiver`."""
    kind: LiveKind
    state: str
    """Two or three words after a sign: `‖ paused`."""
    details: tuple[str, ...] = ()
    """Further texts about the status, the most important first. They may contain text of the transcript."""

    @property
    def sentence(self) -> str:
        """The details on one line, without control characters."""
        return " · ".join(line(detail, _LONGEST) for detail in self.details if detail)


def describe_run(run: RunView) -> LiveStatus:
    """Describe a run: its turn, how full the context window is, what it waits for, the next tier; at the end a
    summary.
    """
    now = run.now
    if run.pausing and now.state not in ("asking", "needing"):
        return LiveStatus(
            "Run", kind="waits", state="‖ pausing", details=(PAUSING, *_run_details(run))
        )
    kind, state = _ENDS[now.end] if now.state == "ended" else _STATES[now.state]
    return LiveStatus("Run", kind, state, _run_details(run))


def _run_details(run: RunView) -> tuple[str, ...]:
    now = run.now
    summary = summarise_run(run.reports) if now.state == "ended" else ""
    if summary:
        return summary, now.error
    reasons = dict.fromkeys((now.why, now.error))
    return _turn_words(now), *_size_words(now), *reasons, next_tier_words(run)


def _turn_words(now: "RunStatus") -> str:
    if now.state == "starting":
        return ""
    if now.thread != "main":
        return f"sub-agent, turn {now.turn}"
    if now.state == "ended":
        return plural(now.turn, "turn")  # `turn` is the number of the next turn
    return f"turn {now.turn}"


def _size_words(now: "RunStatus") -> list[str]:
    """Return the size of the buffer and, if it differs, the policy's own count; empty if the size is unknown."""
    if not (now.tokens and now.window):
        return []
    kind = f" {now.kind}" if now.kind != "unknown" else ""
    words = [f"{grouped(now.tokens)} tokens{kind}, {per_cent(now.tokens / now.window, places=1)}"]
    error = error_words(now.believed / now.tokens - 1)
    if error:
        words.append(f"the policy's own count {grouped(now.believed)}{error}")
    return words


def describe_proxy(view: ProxyView, has_requests: bool, next_tier: str = "") -> LiveStatus:
    """Describe a proxy: its address, what it waits for, and problems of its recorder.

    Args:
        view: The proxy in the State.
        has_requests: True if the open recording has a request.
        next_tier: The next tier of the current thread, in words.
    """
    kind: LiveKind = "waits" if view.holds else "runs"
    state, wait = _proxy_state(view, has_requests)
    details = (f"{view.url} to {view.upstream}", wait, next_tier, view.trouble)
    return LiveStatus("Proxy", kind, state, details)


def _proxy_state(view: ProxyView, has_requests: bool) -> tuple[str, str]:
    """Return the state of a proxy in two or three words, and a text about what it waits for."""
    if view.holds:
        left = max(0.0, min(hold.until for hold in view.holds) - time())
        wait = f"forwarded unchanged in {clock_words(left)} unless you act"
        return f"‖ {plural(len(view.holds), 'request')} held", wait
    if view.under_way:
        return "▶ answering", f"waits for {plural(len(view.under_way), 'answer')} from the provider"
    next_one = "next request" if has_requests else "first request of a client"
    return "● listening", f"waits for the {next_one}"


def clock_words(seconds: float) -> str:
    """Return minutes and seconds, such as `4:07`."""
    whole = int(seconds)
    return f"{whole // 60}:{whole % 60:02}"


def describe_receiver(view: ReceiverView) -> LiveStatus:
    """Describe a span receiver: its address, and the number of spans received."""
    return LiveStatus(
        "Receiver", kind="runs", state="● receiving", details=(view.url, spans_words(view))
    )


def spans_words(view: ReceiverView) -> str:
    """Return a text such as `6 spans received, into spans.jsonl`."""
    return f"{plural(view.spans, 'span')} received, recorded in {Path(view.record).name}"
