"""What every face shows of a session as a whole: its compactions, what they lost, what it cost; and the replay."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.cli import cost as cli_cost
from inspector.cli import info as cli_info
from inspector.cli import lost as cli_lost
from inspector.cli import replay as cli_replay
from inspector.cli import step as cli_step
from inspector.cli.select import Selection
from inspector.core.answering import offline
from inspector.core.findings.answers import ShortAnswer, short_answers
from inspector.core.findings.lost import RecordedLosses, recorded_losses
from inspector.core.findings.spending import session_cost
from inspector.core.policies.catalogue import POLICIES
from inspector.core.policies.place import settings_for
from inspector.core.replay.driver import Ground
from inspector.core.replay.recorded_report import recorded
from inspector.core.replay.report import ReplayReport, replay_report
from inspector.core.session import Session, compaction_count
from inspector.core.tokens.windows import find_window
from inspector.core.words import dollars
from inspector.gui.bars import session_counts
from inspector.gui.panels.cost.figures import cost_figures
from inspector.gui.panels.lists.lost import losses
from inspector.gui.panels.lists.recorded import compaction_rows
from inspector.workbench.compare import FIGURES
from inspector.workbench.diff import compare_sides, sides
from inspector.workbench.pressure.timeline import Series
from inspector.workbench.recorded_branch import changed_before
from inspector.workbench.steps import ORIGIN
from inspector.workbench.workbench import Workbench
from tests.faces.figures import Figures
from tests.faces.places import money, numbers_in, read_gauge, step_parser

LOST_TEXT = 1_500_000
"""Characters of a session up to which what its compactions lost is worked out."""


def show_info(figures: Figures, session: Session, places: Sequence[int | None]) -> dict[str, Any]:
    """`info`, at some of its requests."""
    thread = session.main
    document = cli_info.describe(Selection(session, thread, len(thread.requests)))
    for at in places:
        row = document["end"] if at is None else document["requests"][at]
        figures.add(
            "info",
            {("size", at): row["tokens"], ("kind", at): row["kind"], ("band", at): row["band"]},
        )
        figures.add(
            "info",
            {("not recorded", at): row["unseen"], ("own count", "roku", at): row["believed"]},
        )
    figures.add("info", {("window", None): document["window"]["tokens"]})
    for one in document["compactions"]:
        at = one["before_request"]
        if sum(other["before_request"] == at for other in document["compactions"]) == 1:
            figures.add(
                "info", {("compaction sizes", at): (one["tokens_before"], one["tokens_after"])}
            )
    for one in document["drops"]:
        if one["thread"] == thread.id and one["kind"] != "sub-agent":
            figures.add(
                "info, changes",
                {("change sizes", one["request"]): (one["tokens_before"], one["tokens_after"])},
            )
            figures.add(
                "info, changes", {("gone", one["request"]): (len(one["lost"]), len(one["changed"]))}
            )
    for one in document["observed_triggers"]:
        figures.add("info, triggers", {("compacted at", one["before_request"]): one["tokens"]})
    figures.add("info", {("session cost",): money(document["totals"]["cost_usd"])})
    figures.add(
        "info", {("thread cost",): money(document["totals_by_thread"][thread.id]["cost_usd"])}
    )
    return document


def show_changes(figures: Figures, bench: Workbench, curves: Series) -> None:
    """Compactions and silent drops: lists, marks, the diff, `step --recorded`."""
    state = bench.state
    session, thread, pressures = state.session, state.thread, state.pressures
    assert session is not None
    assert thread is not None
    assert pressures is not None
    at_once = Counter(one.before_request for one in thread.compactions)
    for row in compaction_rows(thread, pressures, state.drops):
        sizes = row.sizes.tokens
        if at_once[row.request] == 1:
            figures.add("compactions", {("compaction sizes", row.request): sizes})
        if at_once[row.request] <= 1 and row.kind != "sub-agent":
            figures.add("compactions", {("change sizes", row.request): sizes})
    for mark in curves.marks:
        if mark.kind == "compaction" and at_once[mark.at] == 1 and "→" in mark.label:
            told = numbers_in(mark.label.rpartition("compaction")[2] or mark.label)[-2:]
            figures.add("timeline, marks", {("compaction sizes", mark.at): tuple(told)})


def show_change(figures: Figures, bench: Workbench, at: int) -> None:
    """One change of the recording, where the playhead stands right after it: diff, steps, gauge, `step --recorded`."""
    state = bench.state
    session, branch = state.session, state.branch
    assert session is not None
    if branch is None:
        return
    before, after = branch.sizes.tokens
    figures.add("gauge, before and after", {("change sizes", at): (before, after)})
    chosen = sides(state)
    if chosen is not None and chosen.whole is not None:
        figures.add("diff", {("change sizes", at): chosen.whole})
        counts = Counter[str](row.fate.name for row in compare_sides(chosen).rows)
        figures.add("diff", {("gone", at): _gone(counts)})
    document = _recorded_step(session, at)
    sizes = document["before"]["predicted"], document["after"]["predicted"]
    figures.add("step", {("change sizes", at): sizes})
    figures.add("step", {("gone", at): _gone(Counter(one["fate"] for one in document["fates"]))})
    bench.stepping.go(ORIGIN)
    gauge = read_gauge(bench)
    figures.add(
        "gauge",
        {
            ("before a change", at): gauge.pressure.tokens,
            ("change sizes", at): (gauge.pressure.tokens, after),
        },
    )
    figures.add(
        "step",
        {
            ("before a change", at): _recorded_step(session, at, "--before", "--tier", "L0")[
                "before"
            ]["predicted"]
        },
    )


def _gone(counts: Mapping[str, int]) -> tuple[int, int]:
    """(messages that are gone, messages that read otherwise)."""
    gone = counts.get("summarised", 0) + counts.get("dropped", 0)
    return gone, sum(counts.get(name, 0) for name in ("cleared", "cut", "replaced"))


def _recorded_step(session: Session, at: int, *words: str) -> dict[str, Any]:
    arguments = step_parser().parse_args(["file", *(words or ("--recorded",))])
    return cli_step.describe(cli_step.take_step(Selection(session, session.main, at), arguments))


def show_losses(figures: Figures, bench: Workbench) -> RecordedLosses:
    """What was lost: `lost`, the panel, the card, the comparison."""
    session = bench.state.session
    assert session is not None
    thread = session.main
    found = recorded_losses(session, thread)
    document = cli_lost.losses_document(found)
    for one in document["compactions"]:
        at, facts = one["before_request"], one["facts"]
        figures.add(
            "lost",
            {
                ("facts lost by one", at): facts["lost"],
                ("needed again by one", at): facts["needed_again"],
            },
        )
        figures.add("lost", {("change sizes", at): (one["tokens_before"], one["tokens_after"])})
    together = document["together"]
    figures.add("lost", {("facts lost",): together["lost"], ("facts",): together["facts"]})
    figures.add("lost", {("needed again",): together["needed_again"]})
    return found


def show_lost_panel(figures: Figures, bench: Workbench, at: int, found: RecordedLosses) -> None:
    """The rows of the panel where the playhead stands at a recorded change."""
    chosen = sides(bench.state)
    if chosen is None:
        return
    rows = losses(chosen, found.each)
    lost = sum(row.lost.verdict != "carried" for row in rows)
    again = sum(bool(row.lost.needed) for row in rows)
    figures.add(
        "lost, the page", {("facts lost by one", at): lost, ("needed again by one", at): again}
    )


def show_costs(figures: Figures, bench: Workbench) -> None:
    """`cost` and the page of that name."""
    session = bench.state.session
    assert session is not None
    whole = session_cost(session)
    document = cli_cost.describe(session)
    thread = session.main
    own = next(one for one in whole.threads if one.thread is thread)
    figures.add("cost", {("session cost",): money(document["total"])})
    figures.add("cost", {("compared cost",): money(document["compared_usd"][thread.id])})
    if not any(one.used for one in whole.bills):
        return
    figures.add(
        "cost, the page", {("session cost",): money(whole.bill.total if whole.bill else None)}
    )
    figures.add(
        "cost, the page",
        {("thread cost",): money(own.bill.total if own.bill and own.used else None)},
    )
    figures.add("cost, the page", {("compared cost",): money(own.compared)})
    title = cost_figures(whole, own).title
    if own.bill is not None and whole.bill is not None and len(whole.threads) > 1:
        figures.add(
            "cost, its title",
            {("session cost, to the cent",): dollars(whole.bill.total) in title},
        )
        figures.add("cost, the page", {("session cost, to the cent",): True})
    at_once = Counter(one.before_request for one in thread.compactions)
    for one in document["compactions"]:
        at = one["before_request"]
        if one["thread"] == thread.id and at_once[at] == 1:
            figures.add(
                "cost", {("compaction sizes", at): (one["tokens_before"], one["tokens_after"])}
            )
            figures.add("cost", {("compaction cost", at): money(one["cost_usd"])})


def show_counts(figures: Figures, bench: Workbench) -> None:
    """The status bar, and the title of Compactions."""
    session = bench.state.session
    assert session is not None
    words = session_counts(session)
    figures.add("status bar", {("compactions",): _number_before("compaction", words)})
    figures.add("compactions", {("compactions",): compaction_count(session.main)})


def _number_before(noun: str, words: str) -> int:
    text = next(part for part in words.split(" · ") if noun in part)
    return numbers_in(text)[0]


def show_answers(figures: Figures, session: Session, curves: Series) -> None:
    """The three cards, which are the first lines of `info`."""

    def window_at(at: int | None) -> int | None:
        return find_window(session, session.main, at).tokens

    filled, _, cost = short_answers(session, session.main, window_at)
    if filled.request is not None and filled.strong:
        figures.add(
            "cards",
            {
                ("size", filled.request): _tokens_of(filled),
                ("fullest request",): _tokens_of(filled),
            },
        )
        figures.add(
            "timeline", {("fullest request",): max(height or 0 for height in curves.heights)}
        )
        figures.add("timeline", {("size", filled.request): curves.heights[filled.request]})
    assert cost.headline


def _tokens_of(answer: ShortAnswer) -> int:
    return numbers_in(answer.strong)[0]


def show_recorded_replay(figures: Figures, session: Session) -> ReplayReport:
    """What happened, as the first row of comparison and replay."""
    ground = Ground(session.main, calls=session.side_calls)
    found = recorded(ground)
    document = cli_replay.describe(found)
    figure = {one.name: one for one in FIGURES}
    figures.add(
        "replay", {("facts lost",): document["loss"]["lost"], ("facts",): document["loss"]["facts"]}
    )
    figures.add("replay", {("needed again",): document["loss"]["needed_later"]})
    figures.add("replay", {("compared cost",): money(document["totals"]["cost_usd"])})
    figures.add("replay", {("compactions",): document["totals"]["compactions"]})
    figures.add("replay", {("fullest request",): document["totals"]["peak"]})
    figures.add("compare", {("facts lost",): figure["facts lost"].of(found)})
    figures.add("compare", {("needed again",): found.losses.needed_later})
    figures.add("compare", {("compared cost",): money(figure["cost"].of(found))})
    figures.add("compare", {("compactions",): figure["compactions"].of(found)})
    figures.add("compare", {("fullest request",): figure["fullest request"].of(found)})
    at_once = Counter(one.before_request for one in session.main.compactions)
    for step in document["compactions"]:
        at = step["before_request"]
        if at_once[at] == 1:
            figures.add(
                "replay", {("compaction sizes", at): (step["tokens_before"], step["tokens_after"])}
            )
            figures.add("replay", {("compaction cost", at): money(step["cost_usd"])})
    return found


def show_policy_replay(figures: Figures, bench: Workbench, name: str, until: int) -> None:
    """A policy driven over the session, up to the first request at which it does something."""
    session = bench.state.session
    assert session is not None
    thread = session.main
    window = find_window(session, thread)
    policy = POLICIES[name]
    settings = settings_for(policy, (), window, session.client)
    found = replay_report(
        Ground(thread, window.tokens, calls=session.side_calls), policy, settings, offline
    )
    apart = min((one.before_request for one in thread.compactions), default=until)
    for row in found.rows[: min(until, apart)]:
        if row.fired:
            break
        figures.add(
            f"replay of {name}", {("size", row.index): row.tokens, ("kind", row.index): row.kind}
        )
    first = next(iter(found.compactions), None)
    if first is not None and first.at.before_request < apart:
        _show_first_compaction(figures, bench, name, found)


def _show_first_compaction(
    figures: Figures, bench: Workbench, name: str, found: ReplayReport
) -> None:
    """The policy's first compaction, beside what Tiers says of the tier at that request."""
    first = found.compactions[0]
    at = first.at.before_request
    thread = bench.state.thread
    assert thread is not None
    row = found.rows[at] if at < len(found.rows) else found.rows[-1]
    if (
        at >= len(thread.requests)
        or row.index != at
        or any(one.at.before_request == at for one in found.compactions[1:])
    ):
        return
    bench.move(at)
    bench.previews.look()
    previews = bench.state.previews
    preview = previews.by_tier.get(first.at.tier) if previews is not None else None
    if preview is None or preview.outcome is None or row.fired != (first.at.tier,):
        return
    figures.add("replay", {("replayed freed", name, at): first.tokens_before - first.tokens_after})
    figures.add("tiers", {("replayed freed", name, at): preview.freed})
    usage, spent = preview.calls.together.usage, row.spent
    calls = spent.summariser_input, spent.summariser_output, money(spent.summaries_usd)
    figures.add("replay", {("replayed calls", name, at): calls})
    figures.add(
        "tiers",
        {("replayed calls", name, at): (usage.prompt, usage.output, money(preview.calls.cost))},
    )


def changes_of(bench: Workbench) -> Iterator[int]:
    """The requests in front of which the recording changed the buffer of the thread."""
    yield from changed_before(bench.state)
