"""What the tier panel says, in words: a preview, its cost, what the last step of a tier came to."""

from decimal import Decimal

from inspector.core.needs import Failure
from inspector.core.outcome import Outcome
from inspector.gui.look.number_formats import grouped, lifetime, plural
from inspector.gui.look.visible import line
from inspector.workbench.previews.payback import payback
from inspector.workbench.state.preview import Preview
from inspector.workbench.state.state import State
from inspector.workbench.state.steps import Step


def preview_words(preview: Preview | None, kind: str) -> str:
    """One line a tier: what it would free and touch, what it would call, what it would do to the cache.

    `kind` of the tokens: predicted, or counted or estimated as long as nothing was reported.
    """
    if preview is None:
        return "…"
    if preview.failure:
        return f"cannot run here: {preview.failure}"
    if preview.break_at is None:
        return "would change nothing"
    words = [
        f"{'frees' if preview.freed >= 0 else 'adds'} {grouped(abs(preview.freed))} {kind}",
        f"touches {grouped(preview.touched)}",
        _call(preview) if preview.calls else "no call",
        f"cache breaks at message {grouped(preview.break_at)}, {grouped(preview.rewritten)} rewritten",
    ]
    return " · ".join(words)


def _call(preview: Preview) -> str:
    price = f" {dollars(preview.call_cost)}" if preview.call_cost is not None else ""
    return f"{plural(preview.calls, 'call')}{price}"


def cost_rows(preview: Preview, model: str) -> tuple[tuple[str, str], ...]:
    """(what, how much) for the block under the tiers."""
    back = payback(preview, model)
    rows = [("model call", _call_row(preview))]
    if preview.break_at is None:
        return (*rows, ("cached prefix", "stays whole"))
    rewrite = f" · {dollars(preview.rewrite_cost)}" if preview.rewrite_cost is not None else ""
    rows += [
        ("cached prefix broken at", f"message {grouped(preview.break_at)}"),
        (f"cache written anew for {lifetime(preview.cache_ttl_s)}", f"{grouped(preview.rewritten)}{rewrite}"),
    ]
    match back.verdict:
        case "pays":
            assert back.requests is not None
            rows.append(("pays for itself after", plural(back.requests, "request") if back.requests else "no time"))
        case "never":
            rows.append(("pays for itself", "never: frees nothing"))
        case "unknown":
            rows.append(("pays for itself", f"unknown: no price for {model}" if model else "unknown: no model named"))
    if back.saved is not None:
        rows.append(("saved by each later request", dollars(back.saved)))
    return tuple(rows)


def _call_row(preview: Preview) -> str:
    if not preview.calls:
        return "none"
    words = f"{grouped(preview.call_input)} in"
    if preview.call_output:
        words += f", up to {grouped(preview.call_output)} out"
    price = "price unknown" if preview.call_cost is None else dollars(preview.call_cost)
    return f"{words} · {price}"


def dollars(amount: Decimal) -> str:
    """`$0.38`; what is less than a cent with as many places as it needs."""
    if amount == 0 or abs(amount) >= Decimal("0.01"):
        return f"${amount:,.2f}"
    return f"${amount:.2g}" if abs(amount) >= Decimal("0.0001") else "under $0.0001"


def last_outcome(state: State, tier: str) -> str:
    """What the newest run of this tier on the way to where we stand came to; empty where it was not run."""
    steps = state.steps
    if steps is None:
        return ""
    for n in reversed(steps.path()):
        for outcome in reversed(steps.taken[n].outcomes):
            if outcome.tier == tier:
                return f"last: {_outcome_words(outcome)}{_cause(steps.taken[n])}"
    return ""


def _cause(step: Step) -> str:
    """Why its last call failed, in the provider's words; empty where the step succeeded."""
    failures = [asked.reply for asked in step.asked if isinstance(asked.reply, Failure)]
    return f" · {line(str(failures[-1]), 90)}" if failures and not step.succeeded else ""


def _outcome_words(outcome: Outcome[object]) -> str:
    changed = f"{plural(len(outcome.changed), 'message')} changed" if outcome.changed else "nothing changed"
    if outcome.error:
        return f"{outcome.error.replace('_', ' ')} · {changed}"
    return changed if outcome.succeeded else f"did not succeed · {changed}"
