"""Walks one session over all faces and collects what each shows."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.core.answering import offline, rehearsed
from inspector.core.session import Session
from inspector.workbench.pressure.timeline import Series, series
from inspector.workbench.steps import RECORDED
from inspector.workbench.words.tier_words import PATH_NOT_COUNTED
from inspector.workbench.workbench import Workbench
from tests.faces import places, sessions
from tests.faces.figures import Figures

REASONS = {PATH_NOT_COUNTED}
"""Why two faces may differ: words that the product shows beside the number. `step` saves a large output and names its
file in the buffer; a preview saves nothing, and what is not written has no path."""


@dataclass(frozen=True, slots=True)
class WalkPlan:
    """How far a session is walked."""

    policies: Sequence[str]
    places: int
    """Requests at which every face is asked."""
    changes: int
    """Recorded compactions and drops that are looked at one by one."""
    replayed: int
    """Requests up to which policies are driven over the session."""
    has_losses: bool
    """Is it worked out what was lost? The longest part."""


def walk_session(session: Session, plan: WalkPlan) -> Figures:
    """Collect the numbers of all faces."""
    figures = Figures()
    # As previews are answered: nothing is written.
    bench = Workbench(answerers=lambda who, state: rehearsed(offline))
    bench.open(session)
    curves = series(bench.state)
    assert curves is not None
    spots = chosen_places(bench, curves, plan.places)
    _walk_session(figures, bench, curves, spots, plan)
    for at in spots:
        bench.move(at)
        places.show_place(figures, bench, curves, at)
    places.show_areas(figures, bench, spots)
    for name in plan.policies:
        bench.stepping.choose(policy=name)
        for at in spots:
            bench.move(at)
            bench.previews.look()
            places.show_policy(figures, bench, at, name)
        if len(session.main.requests) <= plan.replayed:
            sessions.show_policy_replay(figures, bench, name, plan.replayed)
    return figures


def chosen_places(bench: Workbench, curves: Series, count: int) -> list[int | None]:
    """The fullest request, the end, those after a change, the first, one in the middle."""
    heights = [height or 0 for height in curves.heights]
    changed = [at for at in sessions.changes_of(bench) if at < len(heights)]
    wanted = [heights.index(max(heights)), None, *changed[:2], 0, len(heights) // 2]
    return list(dict.fromkeys(wanted))[:count]


def _walk_session(
    figures: Figures, bench: Workbench, curves: Series, spots: Sequence[int | None], plan: WalkPlan
) -> None:
    session = bench.state.session
    assert session is not None
    sessions.show_info(figures, session, spots)
    sessions.show_changes(figures, bench, curves)
    sessions.show_counts(figures, bench)
    sessions.show_costs(figures, bench)
    sessions.show_answers(figures, session, curves)
    losses = None
    if plan.has_losses:
        losses = sessions.show_losses(figures, bench)
        sessions.show_recorded_replay(figures, session)
    for at in list(sessions.changes_of(bench))[: plan.changes]:
        bench.move(at if at < len(session.main.requests) else None)
        sessions.show_change(figures, bench, at)
        if bench.state.branch is None:
            continue
        bench.stepping.go(RECORDED)
        if losses is not None:
            sessions.show_lost_panel(figures, bench, at, losses)
