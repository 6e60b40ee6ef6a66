"""Measures how well rebuilt buffers explain what the providers reported, and writes docs/fidelity.md.

    python packaging/make_fidelity.py [FOLDER ...]      default: ../shared/transcripts beside the checkout
    python packaging/make_fidelity.py --fit [FOLDER ...]      prints what ranges should begin with, and writes nothing

Opens every transcript below the folders and takes the main thread of each that tells what its calls used. The agents
that `make test-clients` installs are played, and what is rebuilt from their transcripts is compared with the bodies
that they sent. Only figures and the path below the folder go into the page, never contents.
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
from charges import framing_table, steps_of, thinking_ratios, thinking_table  # noqa: E402
from explained import explained_calls, explained_table  # noqa: E402
from held_out import deal_halves, fit_prior, held_out_reports, held_out_table, prediction_errors_of  # noqa: E402
from parts_and_bands import coverage_table, covered_reports, part_shares, parts_table  # noqa: E402
from recorded_changes import clearings, clearings_table, crossing_delays, crossings_line  # noqa: E402
from shown_numbers import (  # noqa: E402
    ShownNumbers,
    numbers_table,
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
from inspector.core.tokens.pressure import known_pressures  # noqa: E402
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
    parser.add_argument("folders", nargs="*", type=Path, default=[FOLDER])
    chosen = parser.parse_args()
    folders = chosen.folders
    measured = [one for folder in folders for one in measure(folder)]
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


WEIGHTS = "## What a counted token is expected to weigh"


def _as_it_stands(head: str) -> list[str]:
    """A section of the page that is not measured here."""
    _, head, rest = PAGE.read_text(encoding="utf-8").partition(head + "\n")
    return ["", *(head + rest.partition("\n\n## ")[0]).split("\n")] if head else []


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
        shown = shown_numbers(session, fit) if fit is not None else None
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
            TITLES, [one.shown for one in measured if one.shown is not None and not one.why_not]
        ),
        *measured_parts(complete(measured)),
        *_as_it_stands(WEIGHTS),
        "",
        "## What fills it, where the file holds everything",
        "",
        *EXPLAINED,
        "",
        *explained_table(
            TITLES,
            [call for one in complete(measured) for call in explained_calls(one.session, one.name)],
        ),
        "",
        "## Rebuilt buffers compared with the bodies sent",
        "",
        *BODIES,
        "",
        *compared,
        *(line for why in missing for line in ("", f"Not played: {why}.")),
        *(
            line
            for name in TITLES
            for line in _section(name, [one for one in measured if one.format == name])
        ),
        "",
        *REPEAT,
    ]


def measured_parts(whole: Sequence[Measured]) -> list[str]:
    """Return the sections on predictions, changes, parts and ranges. `whole`: complete sessions."""
    threads = [thread for one in whole for thread in one.session.threads]
    named = [(one.name, thread) for one in whole for thread in one.session.threads]
    steps = [step for one in whole for step in steps_of(one.session, short_name(one.name))]
    covered = [
        report for thread in threads for report in covered_reports(thread, known_pressures(thread))
    ]
    by_session = defaultdict[str, list[Thread]](list)
    for one in whole:
        by_session[one.session.id or one.name].extend(one.session.threads)
    halves = held_out_reports(deal_halves(by_session))
    cleared = {
        (found.before, found.reported): found
        for name, thread in named
        for found in clearings(thread, short_name(name))
    }
    return [
        "",
        *sessions_lines(
            [found for one in whole for found in session_errors(one.session, short_name(one.name))]
        ),
        "",
        crossings_line([late for thread in threads for late in crossing_delays(thread)]),
        "",
        "## Recorded clearings, one by one",
        "",
        *CLEARINGS,
        "",
        *clearings_table(list(cleared.values())),
        "",
        "## The parts of a prompt",
        "",
        *PARTS,
        "",
        *parts_table(TITLES, [part_shares(one.session) for one in whole]),
        "",
        *FRAMING,
        "",
        *framing_table(steps),
        "",
        *THINKING,
        "",
        *thinking_table(thinking_ratios(steps)),
        "",
        "## The range around a prediction",
        "",
        *RANGES,
        "",
        *coverage_table(covered),
        "",
        *HELD_OUT,
        "",
        *held_out_table(*halves),
    ]


def short_name(name: str) -> str:
    """Return the name of a session as tables show it."""
    return name if len(name) <= LONGEST else f"…{name[1 - LONGEST :]}"


HOW = """\
A transcript rarely holds what was sent to the model at each call; the readers rebuild it. The provider reported how
many tokens each prompt really had. If the rebuilt buffers are right, their size by a good estimator and the reported
number lie on a straight line: its intercept is what the file does not hold (system prompt, tools), its slope the
difference between two tokenizers, and R2 says how much of the reported number's variance the line explains. A wrong
rebuild (a lost tool result, a compaction overlooked) shows at once as a low R2.

For each session: the main thread, every call with reported usage, each of our estimators, the best line by R2. Where
calls went to several models, each model has a line of its own, and R2 is the share of the variance within the models:
they have other tokenizers and other prompts. *Overhead* is the intercept in tokens. *Next call* is the median of
|predicted / reported - 1| of the number that the gauge shows: what the program said before it saw the call, from what
stood in the file up to then.

*By stretch*: each stretch between compactions, and between restarts that the file tells, has a line of its own. What is
off the line in the lowest sessions was looked into, call by call, and is not in their files. Claude Code 2.0.76 to
2.1.37 wrote none of its attachments down. After a compaction it reads up to five files again (those of up to 5,000
tokens whole), and tells of skills, plan and tasks anew: 1,300 to 22,500 tokens a time, with the same slope. In 7 of 15
such places the files that the session read last explain it within a third; in the others they do not (files of which
only parts were read, state that a restart lost), so nothing is put there. It tells of files that a command changed:
3,539 tokens after `gofmt -w`, 9,250 after `git stash`. A client that was started again has lost what it had attached
(the prompt fell by 4,067 and 11,045 tokens) or attaches more (9,681). One line through all of it is less straight for
that.

*Holes*: in the lowest session one record on which another hangs is not in the file, with 14 hours between its
neighbours; the prompt is 27,444 tokens shorter after it. Such a file says so in a note.

*Scrubbed*: so many messages have REDACTED where a publisher took out keys, and every long word that looks like one.
What was taken out was sent: one result of 35 KB with 42 such places is 24 KB in the file, and the prompt grew there by
19,399 tokens where 8,194 stand.

Every file that tells what its calls used is counted. Not part of the quantiles: files with under four such calls,
through which any line is nearly straight; in brackets, windows that publishers cut out of a session or texts that they
shortened (*cut*: nobody can know what was sent; "[system prompt]" is no prompt of 31,000 tokens), and test files whose
numbers nobody counted (*made up*: the same number three calls in a row while the buffer grew, or a folder that says
so).""".splitlines()

PREDICTED = """\
Right after a step, after a compaction, at the end of a live buffer nothing is reported yet: there the gauge shows what
the provider would say. Each row compares such a prediction with the report that came, over all calls of the complete
sessions; none has seen the number that it predicts. *After a compaction* the client puts back what the file does not
hold (files read again, reminders): the band says how much that may be.""".splitlines()

CLEARINGS = """\
Messages that the client cleared, or thinking that it dropped at a new turn, without a summary. *Before* is the buffer
that was cut, *freed* and *after* are what was said of it; *off* is against the report that came then. Asked: freed
within 10 %, the number after within 3 %. Clearings below 250 tokens are left out, and copies of one session.
""".splitlines()

PARTS = """\
What fills a prompt, by category, is held against tiktoken, which takes no part in what is shown where the faster
tokenizer is installed: the share of each category in what is recorded, as the gauge shows it, and by tiktoken over the
same texts. *Largest difference*: of the category that differs most, in points, at up to six requests of each complete
session. Asked: within 3 points in 95 % of them.

A provider charges for more than these texts. It writes something around each message (its role, and where it ends),
around each call (name, id and the words that mark it as a call) and around each result. This *framing* is part of the
prompt, so it is part of the message, call or result that it stands around, here and in the program: 4 tokens a message,
and around calls and results what the model's family is charged (below). The comparison has the same framing on both
sides. Against *texts alone* the categories with calls are larger, by as much as short calls are made of framing; a
share by texts alone would be wrong by that much against what is charged. Tools whose loading is deferred are in no
prompt, and count on neither side.
""".splitlines()

FRAMING = """\
Framing in tokens of o200k, of steps with one call, its result and no thinking: as the program has it with the messages
around it, and as charged (growth of the reported prompt, less the texts).
""".splitlines()

THINKING = """\
Thinking weighs by the signature that seals it, where the provider sends no text of it or only a digest. What it is
charged is read off the growth of the reported prompt, by a line through growth against texts and thinking, in each
session with 15 such steps or more. Asked: within 15 %.
""".splitlines()

RANGES = """\
Each prediction has a range, which grows with what is unknown: by what came, from the session's own errors, and from
errors as usual in other sessions until there are enough. Asked: 93 to 97 % of the reports within it for each kind with
50 predictions or more, with an ordinary range of 1 % or less.
""".splitlines()

HELD_OUT = """\
What ranges begin with was learned from such sessions. So sessions are dealt into two halves, at random by a fixed seed
and whole; the ranges are fitted on one half and scored on the other, in both directions.
""".splitlines()

EXPLAINED = """\
Some files hold system prompt and tools beside the messages: there nothing is *unseen*, and what is recorded should
sum to the reported number. What it differs by is shown as a line of its own, the *difference to the provider's
count*. Asked: within 3 % of the report. *Counted / reported* (median) is the tokenizer alone, without anything
learned: 1 where the model has that tokenizer (o200k), 0.6 to 0.9 with Claude's. The difference is what the provider
makes of tools: its instructions for them (Anthropic names 346 tokens for Claude 4), the way in which it writes
schemas (below 0: shorter, as Gemini), descriptions of tools of its own. Where it would be more than 1,000 tokens and
a quarter of the prompt, the file holds less than it seems to, and the rest is *unseen*; where the provider counts
less than half of what is recorded, the file holds more than was sent, or its numbers are made up, and all rows weigh
less. Neither is within 3 %. At most 12 calls of a session are looked at; sessions that were cut (texts down to their
first words: "2025 characters left out") or made up, and those of a single call, are not.
""".splitlines()

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
    """The quantiles of each format, and of all beside what is asked."""
    lines = [
        "| format | files with usage | under 4 calls | cut or made up | measured | median R2 | 10th percentile "
        "| by stretch: median | 10th percentile |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    rows = [
        (title, [one for one in measured if one.format == name]) for name, title in TITLES.items()
    ]
    lines += [_quantiles(title, some) for title, some in rows if some]
    asked = f"Asked over all files: median {ASKED[0]}, 10th percentile {ASKED[1]}."
    return [*lines, _quantiles("**all**", measured), "", asked]


def straight(some: Iterable[Measured]) -> list[tuple[float, float]]:
    """(R2, R2 by stretch) of those that count."""
    return [
        (one.fit.r2_by_model or 0.0, one.by_stretch)
        for one in some
        if one.fit is not None and not one.why_not
    ]


def _quantiles(title: str, some: Sequence[Measured]) -> str:
    found, left = straight(some), sum(bool(one.why_not) for one in some)
    few = sum(one.calls < LEAST and not one.why_not for one in some)
    figures = [
        _figure(quantile([one[n] for one in found], share)) for n in (0, 1) for share in (0.5, 0.1)
    ]
    return f"| {title} | {len(some)} | {few} | {left} | {len(found)} | {' | '.join(figures)} |"


def _section(name: str, measured: Sequence[Measured]) -> list[str]:
    rows = [
        _row(one, one.fit, one.shown)
        for one in measured
        if one.fit is not None and one.shown is not None
    ]
    if not rows:
        return []
    heads = "| session | client | calls | compactions | scrubbed | best estimator | R2 | overhead | slope | next call |"
    return [
        "",
        f"## {TITLES[name]}",
        "",
        heads,
        "|---|---|---:|---:|---:|---|---:|---:|---:|---:|",
        *rows,
    ]


def _row(one: Measured, fit: Fit, shown: ShownNumbers) -> str:
    line, error = fit.line, shown.predicted.median
    name = short_name(one.name)
    models = len({sample.model for sample in fit.samples})
    cells = [
        f"(`{name}`, {one.why_not})" if one.why_not else f"`{name}`",
        one.session.client,
        f"{one.calls}",
        f"{len(one.session.main.compactions)}",
        f"{_scrubbed(one.session) or ''}",
        fit.name,
        _figure(fit.r2_by_model),
        f"{line.overhead:,.0f}" if line and models == 1 else "",
        f"{line.slope:.3f}" if line and models == 1 else f"{models} models",
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
