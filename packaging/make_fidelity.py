"""Measures how well rebuilt buffers explain what the providers reported, and writes docs/fidelity.md.

    python packaging/make_fidelity.py [FOLDER ...]      default: ../shared/transcripts beside the checkout

Opens every transcript below the folders and takes the main thread of each Claude Code, Codex and pi session. The agents
that `make test-clients` installs are played, and what is rebuilt from their transcripts is compared with the bodies
that they sent. Only figures and the path below the folder go into the page, never contents.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import bodies  # noqa: E402
from bodies import Compared, beside, play_all, played_in  # noqa: E402
from shown_numbers import ShownNumbers, numbers_table, shown_numbers  # noqa: E402

from inspector.core.errors import InspectorError  # noqa: E402
from inspector.core.session import Session  # noqa: E402
from inspector.core.tokens.estimators import ESTIMATORS, estimator  # noqa: E402
from inspector.core.tokens.fit import Fit, calibration_report  # noqa: E402
from inspector.core.tokens.prediction import quantile  # noqa: E402
from inspector.transcripts.files import open_transcript  # noqa: E402

FOLDER = ROOT.parent / "shared" / "transcripts"
PAGE = ROOT / "docs" / "fidelity.md"
FORMATS = {
    "claude-code": ("Claude Code", 0.999, 0.965),
    "codex": ("Codex", 0.995, 0.999),
    "pi": ("pi", 0.995, None),
    "gemini-cli": ("Gemini CLI", 0.99, None),
    "opencode": ("opencode", 0.99, None),
}
"""Title, and what is asked of the median and the 10th percentile of R2."""
LEAST = 7
"""Calls with usage that a session needs: a line through fewer points says little."""
LONGEST = 64


@dataclass(frozen=True, slots=True)
class Measured:
    """One session."""

    name: str
    session: Session
    calls: int
    fit: Fit
    """By the estimator with the straightest line."""
    shown: ShownNumbers
    complete: bool
    """It has its beginning."""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[FOLDER])
    folders = parser.parse_args().folders
    measured = [one for folder in folders for one in measure(folder)]
    with tempfile.TemporaryDirectory(prefix="fidelity-") as plays:
        missing = play_all(Path(plays))
        compared = [*(one for folder in folders for one in beside(folder)), *played_in(Path(plays))]
    PAGE.write_text("\n".join(page(measured, compared, missing)) + "\n", encoding="utf-8")
    print("\n".join(summary(measured)))


def measure(folder: Path) -> Iterator[Measured]:
    """Every session of the three formats below a folder that has enough calls."""
    estimators = [estimator(name) for name in ESTIMATORS]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            session = open_transcript(path)
        except InspectorError:
            continue
        calls = sum(1 for request in session.main.requests if request.usage and request.usage.prompt)
        if session.format not in FORMATS or calls < LEAST:
            continue
        straight = [fit for fit in calibration_report(session.main, estimators) if fit.r2 is not None]
        if straight:
            fit = max(straight, key=lambda one: one.r2 or 0)
            complete = not any("begins in the middle" in note for note in session.notes)
            shown = shown_numbers(session, fit)
            yield Measured(str(path.relative_to(folder)), session, calls, fit, shown, complete)


def page(measured: list[Measured], compared: Sequence[Compared] = (), missing: Sequence[str] = ()) -> list[str]:
    """The whole page."""
    return [
        "# Fidelity: do the rebuilt buffers explain what was reported?",
        "",
        "Written by `python packaging/make_fidelity.py`; do not edit by hand.",
        "",
        *HOW,
        "",
        "## In short",
        "",
        *summary(measured),
        "",
        "## The numbers that nobody reported",
        "",
        *PREDICTED,
        "",
        *numbers_table(
            {name: title for name, (title, _, _) in FORMATS.items()}, [one.shown for one in measured if one.complete]
        ),
        "",
        "## Rebuilt buffers compared with the bodies sent",
        "",
        *BODIES,
        "",
        *bodies.table(compared),
        *(line for why in missing for line in ("", f"Not played: {why}.")),
        *(line for name in FORMATS for line in _section(name, [one for one in measured if one.session.format == name])),
        "",
        *REPEAT,
    ]


HOW = """\
A transcript rarely holds what was sent to the model at each call; the readers rebuild it. The provider reported how
many tokens each prompt really had. If the rebuilt buffers are right, their size by a good estimator and the reported
number lie on a straight line: its intercept is what the file does not hold (system prompt, tools), its slope the
difference between two tokenizers, and R2 says how much of the reported number's variance the line explains. A wrong
rebuild (a lost tool result, a compaction overlooked) shows at once as a low R2.

For each session: the main thread, every call with reported usage, each of our estimators, the best line by R2.
*Overhead* is the intercept in tokens. *Next call* is the median of |predicted / reported - 1| of the number that the
gauge shows, by Roku's estimator: what the program said before it saw the call, from what stood in the file up to then.

Counted as complete: at least 7 calls with usage, and the file has its beginning (windows that publishers cut out of a
session are listed, in brackets, and not part of the quantiles: nobody can know what stood before).""".splitlines()

PREDICTED = """\
Right after a step, after a compaction, at the end of a live buffer nothing is reported yet: there the gauge shows what
the provider would say. Each row compares such a prediction with the report that came, over all calls of the complete
sessions; none has seen the number that it predicts. *After a compaction* the client puts back what the file does not
hold (files read again, reminders): the band says how much that may be.""".splitlines()

BODIES = """\
Where a recording of the wire lies beside a client's own transcript, every rebuilt buffer is compared with the body that
was sent, piece by piece and in order. Above all this holds for the agents that `make test-clients` installs: each is
played here, on every wire that it speaks, through a task and a compaction. *Not told*: calls that the transcript does
not write down, or without what they were counted at. No difference: names of calls, where a dialect puts the system
prompt, and what the wire needs and nobody says (empty texts, a stand-in for a signature).""".splitlines()

REPEAT = """\
## On your own sessions

```
context-inspector calibrate FILE --json          the same figures for one session, every estimator, every call
python packaging/make_fidelity.py ~/.claude/projects ~/.codex/sessions
```

The second writes this page with your sessions instead; it holds figures and file names, no contents.""".splitlines()


def summary(measured: list[Measured]) -> list[str]:
    """The quantiles of each format beside what is asked."""
    lines = [
        "| format | sessions | median R2 | asked | 10th percentile R2 | asked |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, (title, median, low) in FORMATS.items():
        found = sorted(
            one.fit.r2 for one in measured if one.session.format == name and one.complete and one.fit.r2 is not None
        )
        asked = f"{low}" if low else ""
        figures = [_figure(quantile(found, 0.5)), f"{median}", _figure(quantile(found, 0.1)), asked]
        lines.append(f"| {title} | {len(found)} | {' | '.join(figures)} |")
    return lines


def _section(name: str, measured: list[Measured]) -> list[str]:
    heads = "| session | client | calls | compactions | best estimator | R2 | overhead | slope | next call |"
    return [
        "",
        f"## {FORMATS[name][0]}",
        "",
        heads,
        "|---|---|---:|---:|---|---:|---:|---:|---:|",
        *map(_row, measured),
    ]


def _row(one: Measured) -> str:
    line, error = one.fit.line, one.shown.predicted["roku"].median
    name = one.name if len(one.name) <= LONGEST else f"…{one.name[1 - LONGEST :]}"
    cells = [
        f"`{name}`" if one.complete else f"(`{name}`)",
        one.session.client,
        f"{one.calls}",
        f"{len(one.session.main.compactions)}",
        one.fit.name,
        _figure(one.fit.r2),
        f"{line.overhead:,.0f}" if line else "",
        f"{line.slope:.3f}" if line else "",
        "" if error is None else f"{error:.2%}",
    ]
    return f"| {' | '.join(cells)} |"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


if __name__ == "__main__":
    main()
