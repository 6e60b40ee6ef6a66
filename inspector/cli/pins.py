"""`context-inspector pins FILE`: the user's instructions and pins, and whether each request still contains them."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.cli.output import number, picked, plain, table, write_json, write_lines
from inspector.cli.select import add_options, add_selection, select, with_settings
from inspector.core.answering import offline
from inspector.core.replay.driver import Ground
from inspector.core.replay.pins import (
    PinHistory,
    PinIndex,
    collect_pins,
    describe_fate,
    pins_kept,
    recorded_pins,
)
from inspector.core.replay.report import RECORDED, replay_report
from inspector.core.words import plural
from inspector.extensions.policies import find_policy

BAR, TEXT, INSTRUCTIONS = 40, 60, 20
"""Width of a bar and of a text in columns, and the most instructions in the table."""
SIGNS = {"verbatim": "█", "paraphrased": "▒", "gone": "·"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_selection(parser)
    add_options(parser, "--pin")


def run(arguments: argparse.Namespace) -> None:
    """Print the pins. Raises InspectorError."""
    chosen = select(arguments)
    thread = chosen.thread
    given = [*chosen.session.shared_pins, *arguments.pin]
    histories = recorded_pins(thread, PinIndex(collect_pins(thread, given)))
    window = replace(chosen, at=len(thread.requests)).window(arguments.window)
    names = dict.fromkeys(arguments.policy or ())
    chosen_policies = [find_policy(name) for name in names]
    user_settings = tuple(arguments.set or ())
    policies = with_settings(
        chosen_policies, pairs=user_settings, window=window, client=chosen.session.client
    )
    under = {}
    if policies:
        ground = Ground(thread, window.tokens, given)
        for policy, settings in policies:
            under[policy.name] = replay_report(ground, policy, settings, answer=offline).pins
    if arguments.json:
        write_json({"pins": list(describe(histories, under))})
    else:
        write_lines(pins_lines(histories, under, len(thread.requests)))


def describe(
    recorded: Sequence[PinHistory], under: Mapping[str, Sequence[PinHistory]]
) -> Iterator[dict[str, Any]]:
    """Yield the entries of cli.md's `pins`, in the order of `recorded`."""
    for index, history in enumerate(recorded):
        by_policy = {name: _describe_spans(histories[index]) for name, histories in under.items()}
        yield {
            **picked(history.pin, "text message request found=origin"),
            "recorded": _describe_spans(history),
            "policies": by_policy,
            "violations": [],
        }


def _describe_spans(history: PinHistory) -> list[dict[str, Any]]:
    return [picked(span, "from=first to=last state evidence message") for span in history.spans]


def pins_lines(
    recorded: Sequence[PinHistory], under: Mapping[str, Sequence[PinHistory]], requests: int
) -> Iterator[str]:
    """Yield a line for each pin and policy, with a bar over the requests and the pin's fate."""
    if not recorded:
        yield "No instruction of the user was recognised. --pin TEXT follows a text of your choice."
        return
    yield kept_words({RECORDED: recorded, **under}, requests)
    yield "  ".join(f"{sign} {state}" for state, sign in SIGNS.items())
    yield ""
    firm = [index for index, history in enumerate(recorded) if history.pin.origin != "instruction"]
    last = min(len(recorded), len(firm) + INSTRUCTIONS)
    listed = [*firm, *range(len(firm), last)]
    rows: list[tuple[str, ...]] = []
    for index in listed:
        by_policy = {name: histories[index] for name, histories in under.items()}
        rows += _rows(recorded[index], by_policy, requests)
    yield from table(
        (">request", "found", "policy", "request 0 to the last", "became", "text"), rows
    )
    if more := len(recorded) - len(listed):
        yield f"and {plural(more, 'more instruction')} (all with --json)."


def kept_words(histories: Mapping[str, Sequence[PinHistory]], requests: int) -> str:
    """Say for each policy how many constraints and given pins were never removed."""
    counts = []
    for name, pins in histories.items():
        kept_count, count = pins_kept(pins)
        counts.append(f"{name} {kept_count} of {count}")
    return (
        f"{plural(requests, 'request')}. Constraints and given pins that never left the context: "
        f"{', '.join(counts)}"
    )


def _rows(
    recorded: PinHistory, under: Mapping[str, PinHistory], requests: int
) -> Iterator[tuple[str, ...]]:
    pin = recorded.pin
    text = plain(pin.text, TEXT)
    yield (
        number(pin.request),
        pin.origin,
        RECORDED,
        draw_bar(recorded, requests),
        describe_fate(recorded),
        text,
    )
    for name, history in under.items():
        yield "", "", name, draw_bar(history, requests), describe_fate(history), ""


_FROM_BEST = ("verbatim", "paraphrased", "gone")


def draw_bar(history: PinHistory, requests: int) -> str:
    """Return the states over all requests in at most BAR characters, the worst state of each part; blank before the
    pin.
    """
    cells = [""] * min(BAR, requests)
    for span in history.spans:
        first, last = _cell(span.first, requests), _cell(span.last, requests)
        for request in range(first, last + 1):
            cells[request] = max(cells[request] or "verbatim", span.state, key=_FROM_BEST.index)
    return "".join(SIGNS.get(state, " ") for state in cells)


def _cell(request: int, requests: int) -> int:
    return request if requests <= BAR else request * BAR // requests
