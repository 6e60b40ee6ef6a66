"""`context-inspector replay FILE FILE ...`: compare policies over several sessions, with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.cli.output import table
from inspector.core.replay.over_sessions import (
    FIGURES_NOTE,
    PolicySummary,
    few_sessions_words,
    spell_cost,
    spell_needed,
)
from inspector.core.replay.ranking import FORGOTTEN

_HEADS = (
    "policy",
    ">sessions",
    ">infeasible in",
    ">cost",
    ">95% interval",
    ">needed again",
    ">95% interval",
    ">in front",
)


def describe_sessions(
    summaries: Sequence[PolicySummary], errors: Mapping[str, str]
) -> dict[str, Any]:
    """Return the JSON document. `errors`: by file name, why a file has no figures."""
    return {
        "policies": [summary._asdict() | _interval_documents(summary) for summary in summaries],
        "errors": dict(errors),
    }


def _interval_documents(summary: PolicySummary) -> dict[str, Any]:
    named = {"cost": summary.cost, "needed_per_1000": summary.needed_per_1000}
    return {
        name: None if interval is None else interval._asdict() for name, interval in named.items()
    }


def sessions_lines(summaries: Sequence[PolicySummary], errors: Mapping[str, str]) -> list[str]:
    """Return the table and the sentences below it."""
    lines = table(_HEADS, [_row(summary) for summary in summaries])
    lines += [
        "",
        FIGURES_NOTE,
    ]
    if few := few_sessions_words(summaries):
        lines.append(few)
    lines.append(FORGOTTEN)
    return [*lines, *(f"left out: {file}: {why}" for file, why in errors.items())]


def _row(summary: PolicySummary) -> tuple[str, ...]:
    return (
        summary.policy,
        f"{summary.sessions:,}",
        f"{summary.infeasible:,}" if summary.infeasible else "0",
        *spell_cost(summary.cost),
        *spell_needed(summary.needed_per_1000),
        f"{summary.in_front:,}",
    )
