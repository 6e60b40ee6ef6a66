"""The text of one row of the diff: what was, what is, line by line, long stretches without a change left out."""

from collections.abc import Iterator, Sequence

from inspector.core.diff import DiffRow, LineRun, line_diff, readable
from inspector.core.message import Message
from inspector.core.words import plural
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.widgets.pieces import Section
from inspector.workbench.diff import LETTERS

AROUND = 3
"""Lines that are shown on either side of a change."""
_TOLD = {
    "kept": "kept as it is",
    "cleared": "cleared: a placeholder stands for the content",
    "cut": "cut: shortened",
    "replaced": "replaced: other content",
    "summarised": "summarised: gone, a summary stands for it",
    "dropped": "dropped: gone without a trace",
    "inserted": "inserted: new",
}


def diff_sections(of: DiffRow, rival: Message | None = None) -> Sequence[Section]:
    """A heading and the text. O(text), for a changed message times the changed lines / 64.

    `rival`: the summary on the other side that stands for the same messages.
    """
    fate = of.fate
    heading = f"{LETTERS[fate.name]} · {_TOLD[fate.name]} · {_tokens(of)}"
    if rival is not None:
        heading += " · beside the summary of the other side"
    if fate.name == "kept":
        assert fate.before is not None
        return (Section(heading, readable(fate.before), "code"),)
    before, after = fate.before or rival, fate.after or rival
    was = readable(before) if before is not None else None
    now = readable(after) if after is not None else None
    return (Section(heading, "\n".join(_lines(_runs(was, now))), "diff"),)


def _tokens(of: DiffRow) -> str:
    if not of.delta:
        return plural(of.tokens_after, "token")
    if of.fate.name == "kept":
        return f"{grouped(of.tokens_before)} tokens by the measure before, {grouped(of.tokens_after)} by the one after"
    return f"{grouped(of.tokens_before)} → {grouped(of.tokens_after)} tokens ({signed(of.delta)})"


def _runs(was: str | None, now: str | None) -> Sequence[LineRun]:
    if was is None or now is None:
        there = was if was is not None else now or ""
        return (LineRun("-" if now is None else "+", tuple(there.split("\n"))),)
    return line_diff(was, now)


def _lines(runs: Sequence[LineRun]) -> Iterator[str]:
    for n, run in enumerate(runs):
        if run.mark != " ":
            yield from (f"{run.mark} {line}" for line in run.lines)
            continue
        head = run.lines[:AROUND] if n else ()
        tail = run.lines[-AROUND:] if n < len(runs) - 1 else ()
        out = len(run.lines) - len(head) - len(tail)
        if out <= 1:
            yield from (f"  {line}" for line in run.lines)
            continue
        yield from (f"  {line}" for line in head)
        yield f"@@ {out:,} lines as they were @@"
        yield from (f"  {line}" for line in tail)
