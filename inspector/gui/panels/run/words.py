"""How a run stands, in words. Plain values in, plain text out."""

from typing import Literal, TypeAlias

from inspector.agent.status import End, RunState, RunStatus, TurnReport
from inspector.core.message import ToolCall
from inspector.gui.look.number_formats import error_words, grouped, percent
from inspector.gui.look.visible import line
from inspector.gui.panels.message.parts import part_text

Kind: TypeAlias = Literal["runs", "waits", "good", "bad"]
_STATES: dict[RunState, tuple[Kind, str]] = {
    "starting": ("runs", "▶ starting"),
    "calling": ("runs", "▶ the model answers"),
    "tool": ("runs", "▶ a tool runs"),
    "tier": ("runs", "▶ a tier runs"),
    "paused": ("waits", "‖ paused"),
    "asking": ("waits", "? asks you"),
    "needing": ("waits", "? asks you"),
}
_ENDS: dict[End, tuple[Kind, str]] = {
    "": ("good", "■ ended"),
    "done": ("good", "✓ done"),
    "error": ("bad", "✗ failed"),
    "stopped": ("waits", "■ stopped"),
    "max turns": ("waits", "■ turns used up"),
}


def chip(standing: RunStatus) -> tuple[Kind, str]:
    """What kind of state it is, and in two or three words which."""
    return _ENDS[standing.end] if standing.state == "ended" else _STATES[standing.state]


def told(standing: RunStatus) -> str:
    """One line: where it is, how full the window is, and why it stands there."""
    words = []
    if standing.state != "starting":
        words.append(f"turn {standing.turn}" if standing.thread == "main" else f"sub-agent, turn {standing.turn}")
    if standing.tokens and standing.window:
        kind = f" {standing.kind}" if standing.kind != "unknown" else ""
        words.append(f"{grouped(standing.tokens)} tokens{kind}, {percent(standing.tokens / standing.window)}")
        error = error_words(standing.believed / standing.tokens - 1)
        words += [f"the policy believes {grouped(standing.believed)}{error}"] * bool(error)
    words += [line(text, 400) for text in dict.fromkeys((standing.why, standing.error)) if text]
    return " · ".join(words)


def call_line(call: ToolCall, width: int = 160) -> str:
    """A call as one line."""
    return f"{line(call.name, 40)} {line(part_text(call), width)}"


def happened(report: TurnReport) -> str:
    """What a turn did: tiers first, then tools, else what was said."""
    words = [*(f"⇣ {tier}" for tier in report.fired), *dict.fromkeys(report.tools)]
    if report.error:
        words.append(f"✗ {line(report.error, 200)}")
    if not words:
        words.append(line(report.text, 200) or report.finish)
    return " · ".join(words)


def size(report: TurnReport) -> str:
    """Tokens of the prompt: as reported, else as predicted or estimated (≈)."""
    return f"{'' if report.kind == 'reported' else '≈'}{grouped(report.tokens)}"


def belief(report: TurnReport) -> str:
    """What the policy made of it before the call."""
    return grouped(report.calibrated)
