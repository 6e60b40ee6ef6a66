"""What every face shows of one place of a session under one policy: gauge, timeline, tiers, steps, diff, `step`."""

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

from inspector.cli import buffer as cli_buffer
from inspector.cli import follow as cli_follow
from inspector.cli import step as cli_step
from inspector.cli.select import Selection
from inspector.core.outcome import fates
from inspector.core.policies.catalogue import POLICIES
from inspector.core.session import Session
from inspector.core.words import priced_words
from inspector.gui.panels.diff.bar import diff_headline
from inspector.gui.panels.tiers.cost_block import call_words, cost_values
from inspector.workbench.diff import compare_sides, sides
from inspector.workbench.policy_input import step_rows_of
from inspector.workbench.pressure.filling import areas, calls_of, filling
from inspector.workbench.pressure.gauge import GaugeReading, reading
from inspector.workbench.pressure.timeline import Series, step_effects
from inspector.workbench.preview_worker import step_cost
from inspector.workbench.previews import Preview, Previews
from inspector.workbench.words.tier_words import PATH_NOT_COUNTED, effect_words, verdict_words
from inspector.workbench.workbench import Workbench
from tests.faces.figures import Figures, What

_NUMBER = re.compile(r"\d[\d,]*")


def numbers_in(text: str) -> list[int]:
    """Every whole number that a text holds, in order."""
    return [int(number.replace(",", "")) for number in _NUMBER.findall(text)]


def read_gauge(bench: Workbench) -> GaugeReading:
    found = reading(bench.state)
    assert found is not None
    return found


def selection_at(session: Session, at: int | None) -> Selection:
    thread = session.main
    return Selection(session, thread, len(thread.requests) if at is None else at)


def show_place(figures: Figures, bench: Workbench, curves: Series, at: int | None) -> None:
    """What no policy has a part in."""
    session = bench.state.session
    assert session is not None
    gauge = read_gauge(bench)
    figures.add("gauge", dict(_of_gauge(gauge, at)))
    figures.add("timeline", {("size", at): curves.end if at is None else curves.heights[at]})
    figures.add("buffer", dict(_of_buffer_command(session, at)))
    figures.add("breakdown", dict(_of_breakdown(bench, at)))
    if at is not None:
        figures.add("follow", dict(_of_follow(bench, at)))
    seen = sum(tokens for _, tokens in gauge.parts)
    if gauge.pressure.tokens is not None and gauge.pressure.counted:
        figures.add("gauge, its parts together", {("size", at): seen + gauge.unseen})


def _of_gauge(gauge: GaugeReading, at: int | None) -> Iterator[tuple[What, object]]:
    yield ("size", at), gauge.pressure.tokens
    yield ("kind", at), gauge.pressure.kind
    yield ("band", at), gauge.pressure.band
    yield ("not recorded", at), gauge.unseen
    yield ("window", at), gauge.window.tokens
    for name, tokens in gauge.parts:
        yield ("category", name, at), tokens


def _of_buffer_command(session: Session, at: int | None) -> Iterator[tuple[What, object]]:
    pressure = cli_buffer.describe(selection_at(session, at))["pressure"]
    names = {
        "size": "tokens",
        "kind": "kind",
        "band": "band",
        "not recorded": "unseen",
        "window": "window",
    }
    for what, name in names.items():
        yield (what, at), pressure[name]
    for name, tokens in pressure["categories"].items():
        yield ("category", name, at), tokens


def _of_follow(bench: Workbench, at: int) -> Iterator[tuple[What, object]]:
    thread, pressures = bench.state.thread, bench.state.pressures
    assert thread is not None
    assert pressures is not None
    document = cli_follow.describe_request(thread, at, pressures, read_gauge(bench).window, 0)
    names = {
        "size": "tokens",
        "kind": "kind",
        "band": "band",
        "not recorded": "unseen",
        "window": "window",
    }
    for what, name in names.items():
        yield (what, at), document[name]
    listed = document["compactions"]
    if len(listed) == 1:
        yield ("compaction sizes", at), (listed[0]["tokens_before"], listed[0]["tokens_after"])


def show_areas(figures: Figures, bench: Workbench, places: Sequence[int | None]) -> None:
    """What fills the buffer at every request, as the timeline draws it."""
    found = areas(bench.state, "category")
    for at in places:
        if at is None:
            continue
        for name, tokens in zip(found.names, found.tokens, strict=True):
            if tokens[at]:
                what = ("not recorded", at) if name == "unseen" else ("category", name, at)
                figures.add("timeline, areas", {what: tokens[at]})


def _of_breakdown(bench: Workbench, at: int | None) -> Iterator[tuple[What, object]]:
    tree = filling(bench.state, calls_of(bench.state)).tree
    yield ("size", at), tree.tokens
    for child in tree.children:
        yield (
            ("not recorded", at) if child.name == "unseen" else ("category", child.name, at),
            child.tokens,
        )


def show_policy(figures: Figures, bench: Workbench, at: int | None, name: str) -> None:
    """What depends on the policy: its own count, its lines, its tiers."""
    session, previews = bench.state.session, bench.state.previews
    assert session is not None
    assert previews is not None
    gauge = read_gauge(bench)
    figures.add("gauge", {("own count", name, at): gauge.believed, ("due", name, at): gauge.due})
    figures.add("gauge, its lines", dict(_of_lines(bench, gauge, at, name)))
    due = tuple(verdict.tier for verdict in previews.verdicts if verdict.due)
    figures.add("tiers", {("own count", name, at): previews.tokens, ("due", name, at): due})
    figures.add(
        "tiers",
        {("size", at): previews.shown_tokens if gauge.pressure.tokens is not None else None},
    )
    figures.add("tiers, verdicts", dict(_of_verdicts(bench, at, name)))
    for tier in (
        "",
        *(tier for tier, preview in previews.by_tier.items() if preview.outcome is not None),
    ):
        document = _stepped(session, at, name, tier, bench)
        shown = dict(_of_step_command(document, at, name, tier))
        figures.add("step", shown)
        if tier:
            _show_tier(figures, bench, at, name, previews, previews.by_tier[tier])
    pressure = cli_buffer.describe(
        selection_at(session, at), bench.state.user_window, POLICIES[name]
    )["pressure"]
    figures.add("buffer", {("own count", name, at): pressure["believed"]})


def _of_lines(
    bench: Workbench, gauge: GaugeReading, at: int | None, name: str
) -> Iterator[tuple[What, object]]:
    """What the gauge says of a line: by how much the policy's own count is over it, or below."""
    if gauge.believed is None:
        return
    for line in (one.watermark for one in gauge.lines if one.policy == bench.state.choices.policy):
        room = line.to_go(gauge.believed)
        for tier in line.tiers:
            yield ("room", name, tier, line.tokens, at), (line.fires(gauge.believed), abs(room))


def _of_verdicts(bench: Workbench, at: int | None, name: str) -> Iterator[tuple[What, object]]:
    """The line of the tier's row that says why it is due or not."""
    previews, window = bench.state.previews, bench.state.window
    assert previews is not None
    for verdict in previews.verdicts:
        words = verdict_words(previews, verdict, window.tokens if window is not None else None)[0]
        room = re.search(r"([\d,]+) (is over|tokens below) ([\d,]+)", words)
        if room is None or verdict.limit is None or verdict.tokens != previews.tokens:
            continue
        first, limit = numbers_in(room[1])[0], numbers_in(room[3])[0]
        is_over = room[2] == "is over"
        yield (
            ("room", name, verdict.tier, limit, at),
            (is_over, first - limit if is_over else first),
        )


@cache
def step_parser() -> argparse.ArgumentParser:
    """Of the arguments of `step`."""
    parser = argparse.ArgumentParser()
    cli_step.add_arguments(parser)
    return parser


def _stepped(
    session: Session, at: int | None, name: str, tier: str, bench: Workbench
) -> dict[str, Any]:
    words = ["file", "--policy", name, *(["--tier", tier] if tier else [])]
    words += ["--window", str(bench.state.user_window)] if bench.state.user_window else []
    return cli_step.describe(
        cli_step.take_step(selection_at(session, at), step_parser().parse_args(words))
    )


def _of_step_command(
    document: dict[str, Any], at: int | None, name: str, tier: str
) -> Iterator[tuple[What, object]]:
    before, after = document["before"], document["after"]
    yield ("size before a step", at), before["predicted"]
    yield ("kind before a step", at), before["kind"]
    yield ("not recorded before a step", at), before["unseen"]
    yield ("own count before a step", name, at), before["calibrated"]
    if not tier:
        yield ("due", name, at), tuple(one["tier"] for one in document["verdicts"] if one["due"])
        return
    yield ("after", name, tier, at), after["predicted"]
    yield ("band after", name, tier, at), after["band"]
    yield ("freed", name, tier, at), before["predicted"] - after["predicted"]
    rows = document["fates"]
    yield (
        ("freed", name, tier, at, "by rows"),
        sum(one["tokens_before"] - one["tokens_after"] for one in rows),
    )
    counts = Counter(one["fate"] for one in rows if one["fate"] != "kept")
    yield ("fates", name, tier, at), dict(counts)
    calls = document["model_calls"] or {}
    yield ("model calls", name, tier, at), calls.get("count", 0)
    if calls:
        yield (
            ("call tokens", name, tier, at),
            (calls["input"], calls["cache_read"], calls["output"]),
        )
        yield ("call limit", name, tier, at), calls["most_output"]
        yield ("call cost", name, tier, at), money(calls["cost_usd"])
        yield ("most call cost", name, tier, at), money(calls["most_cost_usd"])
    yield ("missing files", name, tier, at), document["missing_files_note"]


def money(amount: Decimal | float | None) -> float | None:
    """US dollars as the documents of the commands round them."""
    return None if amount is None else float(round(Decimal(str(amount)), 6))


def _show_tier(
    figures: Figures,
    bench: Workbench,
    at: int | None,
    name: str,
    previews: Previews,
    preview: Preview,
) -> None:
    """A tier as previewed, and as stepped: gauge, diff, steps, timeline."""
    assert preview.outcome is not None
    start, tier = read_gauge(bench), preview.tier
    context = previews.context
    figures.add("tiers", dict(_of_preview(preview, at, name, tier)))
    counts = Counter(
        one.name for one in fates(context.buffer, preview.outcome) if one.name != "kept"
    )
    figures.add("tiers", {("fates", name, tier, at): dict(counts)})
    figures.add("tiers, the row", dict(_of_row(preview, at, name, tier)))
    if PATH_NOT_COUNTED in effect_words(preview)[0]:
        place = name, tier, at
        for what in (
            ("freed", *place),
            ("freed", *place, "by rows"),
            ("after", *place),
            ("band after", *place),
        ):
            figures.excuse("step", what, PATH_NOT_COUNTED)
    figures.add("gauge", {("size before a step", at): start.pressure.tokens})
    figures.add("gauge", {("kind before a step", at): start.pressure.kind})
    figures.add("gauge", {("not recorded before a step", at): start.unseen})
    figures.add("gauge", {("own count before a step", name, at): start.believed})
    here = bench.state.steps.at if bench.state.steps is not None else None
    bench.stepping.step(tier)
    figures.add("gauge", dict(_of_stepped_gauge(bench, start, at, name, tier)))
    figures.add("diff", dict(_of_diff(bench, at, name, tier)))
    if (weighed := step_cost(bench.state)) is not None:
        figures.add("tiers, the step", dict(_of_preview(weighed, at, name, tier)))
    steps = bench.state.steps
    assert steps is not None
    row = next(one for one in step_rows_of(bench.state) if one.at == steps.at)
    figures.add("steps", {("after", name, tier, at): row.tokens})
    if row.before is not None:
        figures.add("steps", {("freed", name, tier, at): row.before - row.tokens})
    if effects := step_effects(bench.state):
        figures.add("timeline", {("after", name, tier, at): effects[-1].after})
        figures.add("timeline", {("freed", name, tier, at): effects[-1].before - effects[-1].after})
    bench.stepping.undo()
    if here is not None and bench.state.steps is not None and bench.state.steps.at != here:
        bench.stepping.go(here)
    figures.add(
        "gauge, after undo", {("size before a step", at): read_gauge(bench).pressure.tokens}
    )


def _of_preview(
    preview: Preview, at: int | None, name: str, tier: str
) -> Iterator[tuple[What, object]]:
    """Of a tier before it runs, or of the step afterwards."""
    yield ("freed", name, tier, at), preview.freed
    yield (
        ("rewritten", name, tier, at),
        (preview.break_at, preview.rewritten, money(preview.rewrite_cost)),
    )
    calls = preview.calls
    yield ("model calls", name, tier, at), calls.together.count
    if calls.together.count:
        usage = calls.together.usage
        yield ("call tokens", name, tier, at), (usage.prompt, usage.cache_read, usage.output)
        yield ("call limit", name, tier, at), calls.together.most_output
        yield ("call cost", name, tier, at), money(calls.cost)
        yield ("most call cost", name, tier, at), money(calls.most_cost)
    yield ("missing files", name, tier, at), preview.missing_files


def _of_row(
    preview: Preview, at: int | None, name: str, tier: str
) -> Iterator[tuple[What, object]]:
    """The texts of the tier's row and of the block under the tiers."""
    for words in effect_words(preview):
        freed = re.search(r"(frees|adds) about ([\d,]+)", words, re.IGNORECASE)
        if freed is not None:
            yield (
                ("freed", name, tier, at),
                numbers_in(freed[2])[0] * (1 if freed[1].lower() == "frees" else -1),
            )
    values = cost_values(preview)
    calls, usage = preview.calls, preview.calls.together.usage
    if calls.together.count:
        sent = re.search(r": ([\d,]+) tokens in", call_words(preview))
        yield ("call input", name, tier, at), usage.prompt
        yield ("call input", name, tier, at), numbers_in(sent[1])[0] if sent is not None else None
    if calls.cost is not None and calls.together.count:
        yield ("call cost, in words", name, tier, at), priced_words(calls.cost, calls.most_cost)
        yield ("call cost, in words", name, tier, at), values["Model call"][0]
    if preview.rewritten:
        yield ("rewritten tokens", name, tier, at), preview.rewritten
        for words in values["Re-sent at the next request"]:
            yield ("rewritten tokens", name, tier, at), numbers_in(words)[0]


def _of_stepped_gauge(
    bench: Workbench, start: GaugeReading, at: int | None, name: str, tier: str
) -> Iterator[tuple[What, object]]:
    gauge = read_gauge(bench)
    yield ("after", name, tier, at), gauge.pressure.tokens
    yield ("band after", name, tier, at), gauge.pressure.band
    yield ("freed", name, tier, at), (start.pressure.tokens or 0) - (gauge.pressure.tokens or 0)
    yield ("not recorded before a step", at), gauge.unseen
    yield (
        ("size before a step", at),
        gauge.before if gauge.before is not None else start.pressure.tokens,
    )


def _of_diff(
    bench: Workbench, at: int | None, name: str, tier: str
) -> Iterator[tuple[What, object]]:
    chosen = sides(bench.state)
    assert chosen is not None
    found = compare_sides(chosen)
    yield ("freed", name, tier, at), -found.delta
    yield ("freed", name, tier, at, "by rows"), -sum(row.delta for row in found.rows)
    yield (
        ("fates", name, tier, at),
        {fate: count for fate, count in found.counts.items() if fate != "kept"},
    )
    sizes = re.search(r": (?:about )?([\d,]+) → (?:about )?([\d,]+) tokens", diff_headline(found))
    if sizes is not None:
        before, after = numbers_in(sizes[1])[0], numbers_in(sizes[2])[0]
        yield ("size before a step", at), before
        yield ("after", name, tier, at), after
        yield ("band after", name, tier, at), found.after_size.band
