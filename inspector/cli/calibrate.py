"""`context-inspector calibrate FILE`: how good each estimator is against what the provider reported."""

import argparse
from typing import Any

from inspector.cli.output import number, picked, table, write_answer
from inspector.cli.select import add_selection, select
from inspector.core.session import Thread
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, ESTIMATORS, estimator
from inspector.core.tokens.fit import Fit, PredictionErrors, calibration_report, prediction_errors
from inspector.core.tokens.pressure import known_pressures
from inspector.core.words import per_cent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    add_selection(parser)
    parser.add_argument(
        "--estimator", action="append", choices=list(ESTIMATORS), metavar="NAME", help="repeatable; default: all"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print it. Raises InspectorError."""
    document = describe(select(arguments).thread, arguments.estimator or list(ESTIMATORS))
    write_answer(document, arguments.json, _lines)


def describe(thread: Thread, names: list[str]) -> dict[str, Any]:
    """The document of cli.md's `calibrate`. Figures are null where there are too few samples for them."""
    fits = calibration_report(thread, map(estimator, names))
    shown = next((fit.prediction for fit in fits if fit.name == DEFAULT_ESTIMATOR), None)
    if shown is None:
        shown = prediction_errors(thread, known_pressures(thread, estimator(DEFAULT_ESTIMATOR)))
    return {
        "thread": thread.id,
        "requests": len(thread.requests),
        "prediction": _prediction(shown),
        "estimators": [_fit(fit) for fit in fits],
    }


def _prediction(found: PredictionErrors) -> dict[str, Any]:
    after = {"count": len(found.after), **picked(found, "median=after_median:6 inside_band:6")}
    return {**picked(found, "requests median:6 p90:6"), "after_compaction": after}


def _fit(fit: Fit) -> dict[str, Any]:
    samples = [picked(sample, "request estimated reported scale:6 predicted error:6") for sample in fit.samples]
    return {
        **picked(fit, "name kind"),
        "samples": samples,
        "refused": list(fit.refused),
        **picked(fit, "median_abs_error:6 p90_abs_error:6 r2:6 r2_by_model:6"),
        "overhead": round(fit.line.overhead) if fit.line else None,
        **picked(fit.line, "slope:6"),
        "prediction": _prediction(fit.prediction),
    }


def _lines(document: dict[str, Any]) -> list[str]:
    heads = (
        "estimator", "kind", ">samples", ">next call", ">90% below", ">after compaction", ">R2", ">overhead", ">slope",
        ">factor alone",
    )  # fmt: skip
    rows = [
        (
            fit["name"],
            fit["kind"],
            number(len(fit["samples"])),
            _percent(fit["prediction"]["median"]),
            _percent(fit["prediction"]["p90"]),
            _percent(fit["prediction"]["after_compaction"]["median"]),
            _figure(fit["r2"]),
            number(fit["overhead"]),
            _figure(fit["slope"]),
            _percent(fit["median_abs_error"]),
        )
        for fit in document["estimators"]
    ]
    return table(heads, rows)


def _percent(value: float | None) -> str:
    return "-" if value is None else per_cent(value, 2)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
