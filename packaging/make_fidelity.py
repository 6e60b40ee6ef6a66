"""Measures how well rebuilt buffers explain what the providers reported, and writes docs/fidelity.md.

    python packaging/make_fidelity.py [FOLDER ...]      default: ../shared/transcripts beside the checkout
    python packaging/make_fidelity.py --sessions [FOLDER ...] prints a row for each session, and writes nothing
    python packaging/make_fidelity.py --fit [FOLDER ...]      prints what ranges should begin with, and writes nothing

Opens every transcript below the folders and takes the main thread of each that records the usage of its calls. The
agents that `make test-clients` installs are played, and what is rebuilt from their transcripts is compared with the
bodies that they sent. Only figures and the path below the folder go into the page, never contents.
"""

import argparse
import re
import sys
import tempfile
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import bodies  # noqa: E402
from bodies import beside, play_all, played_in  # noqa: E402
from charges import families_table, steps_of, thinking_line, thinking_ratios  # noqa: E402
from explained import explained_calls, explained_table  # noqa: E402
from held_out import deal_halves, fit_prior, held_out_reports, held_out_table, prediction_errors_of  # noqa: E402
from parts_and_bands import part_shares, parts_line  # noqa: E402
from recorded_changes import clearings, clearings_line, crossing_delays, crossings_line  # noqa: E402
from shown_numbers import (  # noqa: E402
    ShownNumbers,
    error_cells,
    own_count_line,
    session_errors,
    sessions_lines,
    shown_numbers,
)

from inspector.core.errors import InspectorError  # noqa: E402
from inspector.core.formats.detect import FORMATS  # noqa: E402
from inspector.core.message import part_text  # noqa: E402
from inspector.core.session import Request, Session, Thread  # noqa: E402
from inspector.core.tokens.estimators import ESTIMATORS, estimator  # noqa: E402
from inspector.core.tokens.fit import Fit, calibration_report, explained  # noqa: E402
from inspector.core.tokens.quantiles import quantile  # noqa: E402
from inspector.core.words import per_cent  # noqa: E402
from inspector.transcripts.files import open_transcript  # noqa: E402

FOLDER = ROOT.parent / "shared" / "transcripts"
PAGE = ROOT / "docs" / "fidelity.md"
TITLES = {one.name: one.title for one in FORMATS}
ASKED = 0.999, 0.98
"""Of the median and the 10th percentile of R2, over all files."""
LEAST = 4
"""Calls with usage that a line needs: through fewer points it says nothing."""
CURVED = 0.98
"""R2 below which the page counts a session as low."""
LONGEST = 64
SAME = 3
"""Calls in a row that report one number while the buffer grows: nobody counted that."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One session."""

    name: str
    session: Session
    calls: int
    fit: Fit | None
    """By the estimator with the straightest line; None where there are too few calls for one."""
    shown: ShownNumbers | None
    why_not: str
    """Why it is not part of the quantiles; empty where it is."""

    @property
    def format(self) -> str:
        """Its name."""
        return self.session.format

    @property
    def r2(self) -> float:
        """Return R2 with one line for each model; 0 if there is no line."""
        return (self.fit.r2_by_model if self.fit is not None else None) or 0.0

    @property
    def by_stretch(self) -> float:
        """R2 with a line for each stretch between compactions and restarts that is long enough for one, too."""
        main = self.session.main
        restarts = (
            bisect_right(main.requests, one.line, key=_line)
            for one in self.session.signs
            if one.kind == "restart"
        )
        borders = sorted(
            {one.before_request for one in main.compactions if one.kind == "summary"}.union(
                restarts
            )
        )
        groups = defaultdict[object, list[tuple[float, float]]](list)
        for one in self.fit.samples if self.fit is not None else ():
            groups[one.model, bisect_right(borders, one.request)].append(
                (one.estimated, one.reported)
            )
        found = explained(points for points in groups.values() if len(points) >= LEAST)
        return (self.fit.r2_by_model if found is None and self.fit is not None else found) or 0.0


def _line(request: Request) -> int:
    return request.line


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--fit", action="store_true", help="print the units of ranges that fit these sessions"
    )
    parser.add_argument(
        "--sessions", action="store_true", help="print a row for each session, and write nothing"
    )
    parser.add_argument("folders", nargs="*", type=Path, default=[FOLDER])
    chosen = parser.parse_args()
    folders = chosen.folders
    measured = [one for folder in folders for one in measure(folder)]
    if chosen.sessions:
        print("\n".join(sessions_table(measured)))
        return
    if chosen.fit:
        threads = [thread for one in complete(measured) for thread in one.session.threads]
        for kind, unit in fit_prior(
            [prediction_errors_of(thread) for thread in threads]
        ).units.items():
            print(f"{kind}: {unit[0]:.0f} tokens and {unit[1]} of the change")
        return
    with tempfile.TemporaryDirectory(prefix="fidelity-") as plays:
        missing = play_all(Path(plays))
        played = list(played_in(Path(plays)))
    table = (
        bodies.table([*(one for folder in folders for one in beside(folder)), *played])
        if played
        else _former()
    )
    PAGE.write_text(
        "\n".join(page(measured, table, missing if played else ())) + "\n", encoding="utf-8"
    )
    print("\n".join(summary(measured)))


def complete(measured: Iterable[Measured]) -> list[Measured]:
    """Return the sessions with more than one call of which nothing was left out or made up."""
    return [one for one in measured if one.calls > 1 and not one.why_not]


def _former() -> list[str]:
    """The comparison with the bodies as it stands on the page: the agents are not installed on this machine."""
    _, head, rest = PAGE.read_text(encoding="utf-8").partition("| client | dialect |")
    return (head + rest.partition("\n\n")[0]).split("\n")


def measure(folder: Path) -> Iterator[Measured]:
    """Every session below a folder whose calls tell what they used."""
    estimators = [estimator(name) for name in ESTIMATORS]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            session = open_transcript(path)
        except InspectorError:
            continue
        calls = sum(
            1 for request in session.main.requests if request.usage and request.usage.prompt
        )
        if not calls:
            continue
        fits = calibration_report(session.main, estimators) if calls >= LEAST else ()
        lines = [one for one in fits if one.r2_by_model is not None]
        fit = max(lines, key=lambda one: one.r2_by_model or 0, default=None)
        shown = shown_numbers(session) if fit is not None else None
        yield Measured(
            str(path.relative_to(folder)), session, calls, fit, shown, _why_not(path, session)
        )


CUT = (
    "begins in the middle",
    "goes on from a response that is not in the file",
    "capture shortened texts",
)
"""What is said of a session whose publisher left something out."""
LEFT_OUT = re.compile(r"\(\d[\d,]* characters left out\)")
"""What some put in the place of a text."""
STAND_IN = re.compile(r"\s*\[[^\[\]\n]{1,80}\]\s*")
"""A system prompt that is nothing but a name for one."""
SCRUBBED = re.compile(r"\bREDACTED\b")
"""What stands where a publisher took out keys, and everything that looks like one."""


def _why_not(path: Path, session: Session) -> str:
    shortened = any(LEFT_OUT.search(message.text) for message in session.main.messages)
    shortened = shortened or any(
        STAND_IN.fullmatch(one.prompt.system or "") for one in session.main.requests
    )
    if shortened or any(sign in note for note in session.notes for sign in CUT):
        return "cut"
    reports = [
        (one.usage.prompt, len(one.view))
        for one in session.main.requests
        if one.usage and one.usage.prompt
    ]
    runs = zip(*(reports[n:] for n in range(SAME)), strict=False)
    same = any(
        len({told for told, _ in run}) == 1 < len({length for _, length in run}) == SAME
        for run in runs
    )
    return "made up" if same or "synthetic" in str(path) else ""


def page(
    measured: list[Measured], compared: Sequence[str] = (), missing: Sequence[str] = ()
) -> list[str]:
    """Return the lines of the whole page."""
    whole = complete(measured)
    calls = [call for one in whole for call in explained_calls(one.session, one.name)]
    return [
        "# Explanation: how true the numbers are",
        "",
        "Written by `python packaging/make_fidelity.py`; do not edit.",
        "",
        *HOW,
        "",
        *summary(measured),
        "",
        *UNRECORDED,
        lowest_line(measured),
        "",
        *measured_parts(whole),
        "",
        *EXPLAINED,
        "",
        *explained_table(TITLES, calls),
        "",
        *BODIES,
        "",
        *compared,
        *(line for why in missing for line in ("", f"Not played: {why}.")),
        "",
        *REPEAT,
    ]


def measured_parts(whole: Sequence[Measured]) -> list[str]:
    """Return the sections on predictions, changes, parts and ranges. `whole`: complete sessions."""
    threads = [thread for one in whole for thread in one.session.threads]
    named = [(one.name, thread) for one in whole for thread in one.session.threads]
    shown = [one.shown for one in whole if one.shown is not None]
    by_session = defaultdict[str, list[Thread]](list)
    for one in whole:
        by_session[one.session.id or one.name].extend(one.session.threads)
    first, second = held_out_reports(deal_halves(by_session))
    cleared = {
        (found.before, found.reported): found
        for name, thread in named
        for found in clearings(thread, short_name(name))
    }
    return [
        *PREDICTED,
        "",
        crossings_line([late for thread in threads for late in crossing_delays(thread)]),
        "",
        clearings_line(list(cleared.values())),
        "",
        own_count_line(shown),
        "",
        *sessions_lines(
            [found for one in whole for found in session_errors(one.session, short_name(one.name))]
        ),
        "",
        *RANGES,
        "",
        *held_out_table([*first, *second]),
        "",
        *measured_weights(whole),
    ]


def measured_weights(whole: Sequence[Measured]) -> list[str]:
    """Return the section on what texts, calls and thinking are charged."""
    steps = [
        step
        for one in whole
        if not one.name.startswith(PLAYED)
        for step in steps_of(one.session, short_name(one.name))
    ]
    return [
        *PARTS,
        "",
        parts_line([part_shares(one.session) for one in whole]),
        "",
        *FAMILIES,
        "",
        *families_table(steps),
        "",
        thinking_line(thinking_ratios(steps)),
    ]


PLAYED = "clients/"
"""Folder of sessions that were played against a provider without the model's tokenizer."""


def short_name(name: str) -> str:
    """Return the name of a session as tables show it."""
    return name if len(name) <= LONGEST else f"…{name[1 - LONGEST :]}"


HOW = """\
A transcript rarely holds what was sent to the model; a reader rebuilds it. If the rebuilt buffers are right, their
estimated sizes and the sizes that the provider reported lie on a straight line; a missing tool result or an overlooked
compaction shows as a low R2. *Next call* is the error of the prediction before the report is known. *After a
compaction* counts the reports within the predicted range. Measured: the main thread of each session, with the best of
the estimators, one line for each model.""".splitlines()

UNRECORDED = """\
The line is less straight if the client attached text that it did not record. Claude Code 2.0.76 to 2.1.37 recorded
none of its attachments: after a compaction it re-attaches 1,300 to 22,500 tokens (files, skills, plan).""".splitlines()

PREDICTED = """\
## Numbers that no provider reported

Every prediction of the gauge was compared with the report that followed.""".splitlines()

RANGES = """\
## The range around a prediction

A range starts from the errors of other sessions, and learns from the session's own. The sessions were dealt into two
halves at random; each half was scored with ranges fitted on the other. Wanted: 93 to 97% within the range, for each
kind with at least 50 predictions.""".splitlines()

PARTS = """\
## The parts of a prompt

The share of each category is compared with tiktoken, at up to six requests of each session. *Framing* is the text that
a provider writes around each message, call and result; it counts as part of them.""".splitlines()

FAMILIES = """\
Until a session has grown, the size of its texts follows from the model's family. *Counted token*: tokens of the model
for one token of o200k. *Call and result*: their framing. *Charged*: medians of the growth of reported prompts. A family
that was never measured is assumed to have 1.00, with ranges up to four times as wide.
""".splitlines()

EXPLAINED = """\
## What fills it if the file holds everything

If a file also holds the system prompt and the tools, everything recorded should add up to the report. The rest is shown
as *difference to the provider's count*: the provider's instructions for tools, the way it writes schemas. *Counted /
reported* is the tokenizer alone: 1 if it is the model's, 0.6 to 0.9 with Claude's; far above 1, the file holds more
than was sent, or its numbers are made up. Up to 12 calls of each session.""".splitlines()

BODIES = """\
## Rebuilt buffers compared with the bodies sent

The agents that `make test-clients` installs are played through a task and a compaction, with each API they speak. Every
buffer rebuilt from their own transcripts is compared with the body that was sent, piece by piece.""".splitlines()

REPEAT = """\
## On your own sessions

`context-inspector calibrate FILE` measures one session. `python packaging/make_fidelity.py ~/.claude/projects` writes
this page with your sessions: figures and file names, no contents.""".splitlines()


def lowest_line(measured: Iterable[Measured]) -> str:
    """Return how many sessions have a low R2, and the lowest one with a line for each of their stretches."""
    curved = [one for one in counted(measured) if one.r2 < CURVED]
    if not curved:
        return f"No session is below {CURVED}."
    lowest, by_stretch = min(one.r2 for one in curved), min(one.by_stretch for one in curved)
    return (
        f"{len(curved)} sessions are below {CURVED}, the lowest at {lowest:.4f}; with a line for each "
        f"stretch between compactions and restarts, none is below {by_stretch:.4f}."
    )


def counted(measured: Iterable[Measured]) -> list[Measured]:
    """Return the sessions that are part of the quantiles."""
    return [one for one in measured if one.fit is not None and not one.why_not]


def summary(measured: list[Measured]) -> list[str]:
    """Return the figures of each format, and of all beside what is wanted."""
    lines = [
        "| format | sessions | R2: median | 10th percentile | next call: median | 90% below | after a compaction |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    used = counted(measured)
    for name, title in TITLES.items():
        some = [one for one in used if one.format == name]
        lines += [_quantiles(title, some)] if some else []
    few = sum(one.calls < LEAST and not one.why_not for one in measured)
    left_out = sum(bool(one.why_not) for one in measured)
    return [
        *lines,
        _quantiles("**all**", used),
        "",
        f"Wanted over all sessions: R2 of {ASKED[0]} (median) and {ASKED[1]} (10th percentile). Not measured: "
        f"{few} files with fewer than {LEAST} reports, and {left_out} that were cut or shortened by their publisher or "
        "whose numbers are made up.",
    ]


def straight(some: Iterable[Measured]) -> list[tuple[float, float]]:
    """(R2, R2 by stretch) of those that count."""
    return [(one.r2, one.by_stretch) for one in counted(some)]


def _quantiles(title: str, some: Sequence[Measured]) -> str:
    found = [r2 for r2, _ in straight(some)]
    figures = [_figure(quantile(found, share)) for share in (0.5, 0.1)]
    cells = [title, f"{len(found)}", *figures]
    cells += error_cells([one.shown for one in some if one.shown is not None])
    return f"| {' | '.join(cells)} |"


def sessions_table(measured: Sequence[Measured]) -> list[str]:
    """Return one row a session that has a line."""
    return [
        "| session | client | calls | compactions | redacted | R2 | by segment | estimator | next call |",
        "|---|---|---:|---:|---:|---:|---:|---|---:|",
        *(
            _row(one, one.fit, one.shown)
            for one in measured
            if one.fit is not None and one.shown is not None
        ),
    ]


def _row(one: Measured, fit: Fit, shown: ShownNumbers) -> str:
    error = shown.predicted.median
    name = short_name(one.name)
    cells = [
        f"(`{name}`, {one.why_not})" if one.why_not else f"`{name}`",
        one.session.client,
        f"{one.calls}",
        f"{len(one.session.main.compactions)}",
        f"{_scrubbed(one.session) or ''}",
        _figure(fit.r2_by_model),
        _figure(one.by_stretch),
        fit.name,
        "" if error is None else per_cent(error, 2),
    ]
    return f"| {' | '.join(cells)} |"


def _scrubbed(session: Session) -> int:
    """Messages of the main thread in which a publisher took something out."""
    messages = session.main.messages
    return sum(
        any(SCRUBBED.search(part_text(part)) for part in message.parts) for message in messages
    )


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


if __name__ == "__main__":
    main()
