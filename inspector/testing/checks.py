"""Assertions about a policy on recorded sessions. A failure lists every session that breaks it, with the number."""

from collections.abc import Iterable

from inspector.core.facts.wording import join_lines
from inspector.core.words import per_cent, plural
from inspector.testing.figures import PolicyLike, Replays, SessionFigures, Sessions

REPLAYS = Replays()
"""The replays of this process: assertions about the same policy and session share one."""


def assert_valid(policy: PolicyLike, sessions: Sessions) -> None:
    """Assert that no provider would refuse a buffer that the policy makes (a result without its call, for example).

    Errors that the recorded buffer already had do not count.
    """
    figures = REPLAYS.replay_each(policy, sessions)
    _fail_with(
        [f"{_name(row)}: {refusal}" for row in figures for refusal in row.refusals],
        "makes invalid buffers",
    )


def assert_survives(policy: PolicyLike, sessions: Sessions, pins: Iterable[str] | str) -> None:
    """Assert that texts stay in the buffer, verbatim or in other words, from the first request that holds them.

    A session that never holds a text is skipped for it. The assertion fails for a text that no session holds.
    """
    texts = [join_lines(text) for text in ([pins] if isinstance(pins, str) else pins)]
    figures = REPLAYS.replay_each(policy, sessions, texts)
    faults = []
    for text in texts:
        holding = [row for row in figures if text in row.pins]
        faults += [
            f"{_name(row)}: {text!r} is {row.pins[text]}" for row in holding if row.pins[text]
        ]
        faults += [] if holding else [f"no session holds {text!r}"]
    _fail_with(faults, "loses what should survive")


def max_pressure(policy: PolicyLike, sessions: Sessions, ratio: float) -> None:
    """Assert that the largest buffer fills at most this share of the window (0.75 = 75%)."""
    faults = []
    for row in REPLAYS.replay_each(policy, sessions):
        if row.pressure is None:
            faults.append(
                f"{_name(row)}: the window of the model is unknown; give the policy a window"
            )
        elif row.pressure > ratio:
            faults.append(
                f"{_name(row)}: {row.peak:,} tokens, {per_cent(row.pressure)} of {row.window:,}"
            )
    _fail_with(faults, f"exceeds {per_cent(ratio)} of the window")


def max_cost(policy: PolicyLike, sessions: Sessions, usd: float) -> None:
    """Assert that all sessions together cost at most `usd` US dollars, summaries included."""
    figures = REPLAYS.replay_each(policy, sessions)
    unknown = [
        f"{_name(row)}: no price is known for its model" for row in figures if row.cost_usd is None
    ]
    _fail_with(unknown, "has no known cost")
    total = sum(row.cost_usd or 0 for row in figures)
    costliest = sorted(figures, key=lambda row: -(row.cost_usd or 0))[:5]
    shares = [f"{_name(row)}: ${row.cost_usd:,.2f}" for row in costliest]
    _fail_with(shares if total > usd else [], f"costs ${total:,.2f}, more than ${usd:,.2f}")


def no_overflow(policy: PolicyLike, sessions: Sessions) -> None:
    """Assert that every request fits into the window after the policy acted."""
    faults = [
        f"{_name(row)}: {plural(row.too_large, 'request')} larger than {row.window or 0:,} tokens"
        for row in REPLAYS.replay_each(policy, sessions)
        if row.too_large
    ]
    _fail_with(faults, "does not fit into the window")


def _name(row: SessionFigures) -> str:
    return f"{row.policy} on {row.session}"


def _fail_with(faults: list[str], what: str) -> None:
    __tracebackhide__ = True
    if faults:
        listed = "\n".join(f"  {fault}" for fault in faults)
        raise AssertionError(f"The policy {what}:\n{listed}")
