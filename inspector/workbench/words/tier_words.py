"""Say what a tier would do and why, and what is due at the current place."""

from collections.abc import Sequence

from inspector.core.policies.verdict import Verdict, Watermark
from inspector.core.words import dollars, per_cent, plural, priced_words
from inspector.workbench.previews import Preview, Previews
from inspector.workbench.state import State
from inspector.workbench.words.step_words import step_words

PATH_NOT_COUNTED = "The path of the saved file is not counted."
"""Note for a preview whose step saves a file and names it in the buffer: the path is unknown before that."""


def badge_words(previews: Previews, tier: str) -> str:
    """Return the badge of a tier: `Runs first`, `Due` or `Not due`.

    `Over, not due` means that the buffer is over the tier's line but something else prevents the tier.
    """
    if previews.next == tier:
        return "Runs first" if len(previews.due) > 1 else "Due"
    if tier in previews.due:
        return "Due"
    verdict = next((judged for judged in previews.verdicts if judged.tier == tier), None)
    is_over = verdict is not None and _is_over(previews, verdict)
    return "Over, not due" if is_over else "Not due"


def _is_over(previews: Previews, verdict: Verdict) -> bool:
    """Is the buffer over the line that the verdict refers to?"""
    line = _line_of(previews, verdict)
    return line is not None and verdict.tokens is not None and line.fires(verdict.tokens)


def verdict_words(previews: Previews, verdict: Verdict, window: int | None) -> tuple[str, ...]:
    """Say why a tier is due or not; then the same in fewer words for narrow panels.

    `122,966 is over 120,000 (60%). Not due after L0.`
    """
    line = _line_of(previews, verdict)
    why, *notes = verdict.why.split(" · ")
    if verdict.due and previews.due_run is not None and verdict.tier not in previews.due_run:
        notes.append(f"Not due after {_join_names(previews.due_run)}")
    brief = why
    if line is not None and verdict.tokens is not None:
        why, brief = (
            line_words(line, verdict.tokens, window, is_brief) for is_brief in (False, True)
        )
    texts = [(why, *notes), (brief, *notes)]
    texts.append(tuple(notes) if notes and not verdict.due else (brief,))
    return tuple(" ".join(map(_sentence, sentences)) for sentences in texts)


def line_words(line: Watermark, tokens: int, window: int | None, is_brief: bool = False) -> str:
    """Compare tokens with a line: `122,966 is over 120,000 (60%)`, `27,035 tokens below 150,000 (75%)`."""
    limit = f"{line.tokens:,}"
    if window:
        share = line.tokens / window
        limit = f"{limit} ({per_cent(share, _places(share))})"
    if line.fires(tokens):
        return f"{tokens:,} {'>' if is_brief else 'is over'} {limit}"
    return f"{line.to_go(tokens):,}{'' if is_brief else ' tokens'} below {limit}"


def effect_words(preview: Preview | None) -> tuple[str, ...]:
    """Say what a tier would do; then the same in fewer words for narrow panels.

    `Frees about 69,443 tokens. 1 model call, about $0.12 (at most $0.55).`
    """
    if preview is None:
        return ("…",)
    if preview.failure:
        return (_sentence(f"cannot run here: {preview.failure}"),)
    if preview.break_at is None:
        return ("Would change nothing.",)
    verb = "frees" if preview.freed >= 0 else "adds"
    size = f"{verb} about {abs(preview.freed):,} tokens"
    brief = whole = _sentence(size)
    done_by = preview.outcome.tier if preview.outcome is not None else preview.tier
    if done_by.lower() != preview.tier.lower():
        brief = _sentence(f"as {done_by}: {size}")
        whole = _sentence(f"would run as {done_by}: {size}")
    calls, price = _calls(preview)
    path = f" {PATH_NOT_COUNTED}" if preview.saves_text else ""
    return f"{whole} {calls}{path}", f"{whole} {price}", f"{brief} {price}", brief


def _calls(preview: Preview) -> tuple[str, str]:
    """Return the model calls in words: once with the highest price too, once with only the expected price."""
    calls = preview.calls
    if not calls.together.count:
        return "No model call.", "No model call."
    words = plural(calls.together.count, "model call")
    if calls.cost is None:
        return f"{words}.", f"{words}."
    return (
        f"{words}, {priced_words(calls.cost, calls.most_cost)}.",
        f"{words}, about {dollars(calls.cost)}.",
    )


def shown_words(state: State) -> str:
    """Say what is shown: the waiting tier, the current step, or what is due; empty while that is unknown."""
    if state.asking is not None:
        return f"{name_asker(state.asking.tier)} waits for an answer: see Model calls."
    step = state.shown_step
    if step is not None:
        return f"{step.name}: {step_words(step)}"
    return due_words(state.previews) if state.previews is not None else ""


def name_asker(tier: str) -> str:
    """Name what waits for an answer: a tier, or for an empty `tier` one of the due tiers."""
    return {"": "A due tier", "turn": "The turn"}.get(tier, tier)


def due_words(previews: Previews) -> str:
    """Say which tiers are due: `L0 and L1 are due; only L0 will run.`; or how far the nearest line is."""
    due = previews.due
    fired = previews.due_run
    if not due:
        return f"No tier is due{_nearest_line_words(previews)}."
    is_or_are = "is" if len(due) == 1 else "are"
    words = f"{_join_names(due)} {is_or_are} due"
    if fired is None or set(due) <= set(fired) or not fired:
        return f"{words}."
    return f"{words}; only {_join_names(fired)} will run."


def _nearest_line_words(previews: Previews) -> str:
    lines = previews.policy.watermarks(previews.context.settings)
    ahead = [line for line in lines if not line.fires(previews.tokens)]
    if not ahead:
        return ""
    line = min(ahead, key=lambda line: line.to_go(previews.tokens))
    return f": {_join_names(line.tiers)} in {line.to_go(previews.tokens):,} tokens"


def _line_of(previews: Previews, verdict: Verdict) -> Watermark | None:
    """Return the watermark that the verdict refers to; None if there is none."""
    if verdict.limit is None:
        return None
    lines = previews.policy.watermarks(previews.context.settings)
    return next(
        (line for line in lines if verdict.tier in line.tiers and line.tokens == verdict.limit),
        None,
    )


def _places(share: float) -> int:
    return 0 if abs(share * 100 - round(share * 100)) < 0.05 else 1


def _sentence(text: str) -> str:
    """Return the text as a sentence: add a final period, and a capital unless the first word is a name."""
    first_word = text.split(" ", 1)[0]
    if first_word.islower():
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _join_names(names: Sequence[str]) -> str:
    """Join names: `L0`, `L0 and L1`, `L0, L1 and L2`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
