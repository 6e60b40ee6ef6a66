"""The report of a test run on recorded sessions: a Markdown table with the difference to a stored baseline."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from inspector.core.errors import InspectorError
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.words import per_cent
from inspector.testing.figures import NUMBERS, SessionFigures

Baseline: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Figures of an earlier run by their key."""


def read_baseline(path: Path) -> Baseline:
    """Read the numbers of an earlier run. Raises InspectorError."""
    try:
        value = loads(path.read_bytes())
    except OSError as error:
        raise InspectorError(f"{path}: {error.strerror or error}.") from None
    except NotJson as error:
        raise InspectorError(f"{path} is not a baseline: {error}.") from None
    figures = value.get("figures") if isinstance(value, Mapping) else None
    if not isinstance(figures, Mapping):
        raise InspectorError(f"{path} is not a baseline: it has no figures.")
    return figures


def describe_with_changes(figures: SessionFigures, baseline: Baseline | None) -> str:
    """Return the figures as JSON, with the differences to the baseline as `change`."""
    document = figures.as_json()
    before = (baseline or {}).get(figures.key, {})
    changes = {name: _change(document[name], before.get(name)) for name in NUMBERS}
    return dumps(
        {**document, "change": {name: change for name, change in changes.items() if change}}
    )


def baseline_text(rows: Mapping[str, str]) -> str:
    """Return the baseline file of a run.

    Args:
        rows: figures as JSON, by their key.
    """
    figures = {key: loads(row.encode()) for key, row in rows.items()}
    return dumps({"figures": {key: _without_change(row) for key, row in figures.items()}}) + "\n"


def _without_change(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "change"}


def report_lines(rows: Mapping[str, str], baseline: Baseline | None) -> list[str]:
    """Return the Markdown report: a row for each session and policy.

    Args:
        rows: figures as JSON, by their key.
        baseline: the figures of an earlier run; None if there are none.
    """
    heads = [
        "session",
        "policy",
        "requests",
        "fullest",
        "of the window",
        "too large",
        "compactions",
        "needed again",
    ]
    lines = ["# Compaction policies on recorded sessions", ""]
    lines += [f"| {' | '.join([*heads, 'cost'])} |", f"|---|---|{'---:|' * (len(heads) - 1)}"]
    lines += [_row(loads(row.encode())) for row in rows.values()]
    if baseline is not None:
        new, missing = rows.keys() - baseline.keys(), baseline.keys() - rows.keys()
        lines += ["", "In brackets: the difference to the baseline."]
        lines += (
            [f"Not in the baseline: {len(new)}. Not in this run: {len(missing)}."]
            if new or missing
            else []
        )
    return lines


def _row(row: Mapping[str, Any]) -> str:
    window, change = row["window"], row["change"]
    share = per_cent(row["peak"] / window) if window else "unknown"
    requests, peak, *counts = (
        _count_words(row[name], change.get(name, 0)) for name in NUMBERS[:-1]
    )
    cost = _cost_words(row["cost_usd"], change.get("cost_usd", 0))
    cells = [_escape(row["session"]), _escape(row["policy"]), requests, peak, share, *counts, cost]
    return f"| {' | '.join(cells)} |"


def _change(value: Any, before: Any) -> Any:
    if isinstance(value, int | float) and isinstance(before, int | float):
        return round(value - before, 6)
    return 0


def _count_words(value: int, change: int) -> str:
    return f"{value:,} ({change:+,})" if change else f"{value:,}"


def _cost_words(value: float | None, change: float) -> str:
    if value is None:
        return "unknown"
    sign = "-" if change < 0 else "+"
    return (
        f"${value:,.2f} ({sign}${abs(change):,.2f})" if abs(change) >= 0.005 else f"${value:,.2f}"
    )


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")
