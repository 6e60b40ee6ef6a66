"""`context-inspector calibrate FILE`: compare each estimator with the tokens that the provider reported."""

import argparse
from typing import Any

from inspector.cli.output import CellColumn, listing, picked, write_answer
from inspector.cli.select import add_selection, select
from inspector.core.session import Thread
from inspector.core.tokens.estimators import ESTIMATORS, estimator
from inspector.core.tokens.fit import Fit, PredictionErrors, calibration_report, prediction_errors
from inspector.core.tokens.pressure import known_pressures
from inspector.core.words import per_cent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_selection(parser)
    parser.add_argument(
        "--estimator",
        action="append",
        choices=list(ESTIMATORS),
        metavar="NAME",
        help="repeatable; default: all",
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the comparison. Raises InspectorError."""
    document = describe(select(arguments).thread, arguments.estimator or list(ESTIMATORS))
    write_answer(document, arguments.json, _lines)


def describe(thread: Thread, names: list[str]) -> dict[str, Any]:
    """Return the document of cli.md's `calibrate`. A figure is null if there are too few samples for it."""
    fits = calibration_report(thread, map(estimator, names))
    prediction = prediction_errors(thread, known_pressures(thread))
    return {
        "thread": thread.id,
        "requests": len(thread.requests),
        "prediction": _prediction(prediction),
        "estimators": [_fit(fit) for fit in fits],
    }


def _prediction(errors: PredictionErrors) -> dict[str, Any]:
    after = {"count": len(errors.after), **picked(errors, "median=after_median:6 inside_band:6")}
    return {**picked(errors, "requests median:6 p90:6"), "after_compaction": after}


def _fit(fit: Fit) -> dict[str, Any]:
    samples = [
        picked(sample, "request estimated reported scale:6 predicted error:6")
        for sample in fit.samples
    ]
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
    columns: tuple[CellColumn, ...] = (
        "name=estimator",
        "kind",
        ">samples",
        (">next call", lambda fit: _percent(fit["prediction"]["median"])),
        (">90% below", lambda fit: _percent(fit["prediction"]["p90"])),
        (
            ">after compaction",
            lambda fit: _percent(fit["prediction"]["after_compaction"]["median"]),
        ),
        (">R2", lambda fit: _figure(fit["r2"])),
        ">overhead",
        (">slope", lambda fit: _figure(fit["slope"])),
        (">factor alone", lambda fit: _percent(fit["median_abs_error"])),
    )
    return listing(document["estimators"], *columns)


def _percent(value: float | None) -> str:
    return "-" if value is None else per_cent(value, places=2)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
