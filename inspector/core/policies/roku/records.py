"""LoopState.history: one record a step, and how the oldest are folded into the working summary (spec 1.9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.jsontext import dumps
from inspector.core.policies.roku.digest import cut
from inspector.core.policies.roku.settings import Settings

OutcomeKind: TypeAlias = Literal["tool", "ask_user", "final", "none", "boundary"]
REASON_BYTES, OUTCOME_BYTES = 80, 100
LLM_REASON_BYTES, LLM_OUTCOME_BYTES = 100, 150
PREVIEW_BYTES = 200


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What one step of the loop did. A boundary stands for records that were compacted away."""

    step: int
    tool: str | None = None
    reason: str = ""
    kind: OutcomeKind = "none"
    ok: bool = True
    message: str = ""
    discarded: int = 0
    preview: str = ""

    @property
    def outcome(self) -> str:
        """In words, as both summaries quote it."""
        match self.kind:
            case "tool":
                state = "ok" if self.ok else "error"
                return f"{state}: {self.message}" if self.message else state
            case "ask_user" | "final":
                return f"{self.kind}: {self.message}"
            case _:
                return "no observation"


def split_records(history: Sequence[StepRecord], settings: Settings) -> tuple[tuple[StepRecord, ...], ...]:
    """(to be removed, kept); nothing to remove while no more than `retain_tail_steps` are there.

    Upstream counts a leading boundary; safe mode does not.
    """
    counted = len(history)
    if settings.safe and history and history[0].kind == "boundary":
        counted -= 1
    if counted <= settings.retain_tail_steps:
        return (), tuple(history)
    at = len(history) - settings.retain_tail_steps
    return tuple(history[:at]), tuple(history[at:])


def mechanical_text(removed: Sequence[StepRecord]) -> str:
    """The text without a model."""
    lines = [f"[Compact summary — {len(removed)} steps discarded]"]
    for one in removed:
        reason, outcome = cut(one.reason, REASON_BYTES), cut(one.outcome, OUTCOME_BYTES)
        lines.append(f"Step {one.step}: {one.tool or 'unknown'} — {reason} — {outcome}")
    return "\n".join(lines)


def records_json(removed: Sequence[StepRecord]) -> str:
    """What the model is given to summarise."""
    return dumps(
        [
            {
                "step": one.step,
                "tool": one.tool or "unknown",
                "reason": cut(one.reason, LLM_REASON_BYTES),
                "outcome": cut(one.outcome, LLM_OUTCOME_BYTES),
            }
            for one in removed
        ]
    )


def boundary(step: int, removed: Sequence[StepRecord], text: str) -> StepRecord:
    """The record that stands for the removed ones."""
    count = len(removed)
    return StepRecord(step, None, str(count), "boundary", discarded=count, preview=cut(text, PREVIEW_BYTES))


def joined_summary(text: str, old: str, settings: Settings) -> str:
    """Newest first, cut to the limit: the oldest information is what gets lost. No ellipsis."""
    joined = f"{text}\n\n{old}" if old else text
    limit = settings.working_summary_max_chars
    if settings.unit == "bytes":
        return joined.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
    return joined[:limit]
