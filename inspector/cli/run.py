"""`context-inspector run`: run the product's own agent on a task, with a line per turn and a journal. Ctrl+C stops it.

Reading inside the workspace needs no permission. A call that writes or runs something is asked about on the terminal,
and refused if there is none, unless `--yes` is given.
"""

import argparse
import queue
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspector.agent.plan import Permissions, Plan, RunLimits
from inspector.agent.runner import Runner
from inspector.agent.starting import demo_folder, demo_plan, fork, resume
from inspector.agent.status import RunStatus, TurnReport
from inspector.cli.asking import ask_person
from inspector.cli.output import note, number, picked, plain, progress_line, write_json, write_lines
from inspector.cli.select import (
    Selection,
    add_options,
    find_request_place,
    policy_name,
    positive,
    thread_of,
)
from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import DEFAULT_POLICY
from inspector.core.words import per_cent
from inspector.transcripts.files import open_transcript

TEXT = 100
"""Number of characters of an answer that a line shows."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--task", metavar="TEXT", default="", help="the task of the agent")
    parser.add_argument(
        "--workspace", metavar="DIR", help="the folder it works in (default: this one)"
    )
    parser.add_argument("--record", metavar="FILE", help="its journal, a new file")
    parser.add_argument(
        "--provider", metavar="WHO", help="simulated (default), anthropic, openai, or a URL"
    )
    parser.add_argument("--model", metavar="NAME", help="the model that is asked")
    parser.add_argument(
        "--policy",
        metavar="NAME",
        type=policy_name,
        help="the policy that compacts (default: roku), or your own: x.py",
    )
    add_options(parser, "--set", "--window")
    parser.add_argument(
        "--answerer", choices=("provider", "offline"), help="what writes the policy's summaries"
    )
    permissions = parser.add_mutually_exclusive_group()
    permissions.add_argument(
        "--yes", action="store_true", help="write and run commands without asking"
    )
    permissions.add_argument("--no", action="store_true", help="write nothing and run nothing")
    parser.add_argument(
        "--memory",
        metavar="FILE",
        help="the agent's notes file in the workspace, used as the session memory",
    )
    parser.add_argument(
        "--max-turns", metavar="N", type=positive, help="maximum number of model calls (100)"
    )
    _add_beginning(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a line of JSON for each turn, and one for the end",
    )


def _add_beginning(parser: argparse.ArgumentParser) -> None:
    """Add the options for what the run begins with: a demo, a journal, or a buffer of a transcript."""
    begun = parser.add_mutually_exclusive_group()
    begun.add_argument(
        "--demo", action="store_true", help="a live demo on a copy of a sample: no key, no network"
    )
    begun.add_argument("--resume", metavar="JOURNAL", help="resume a run, in the same journal")
    begun.add_argument("--fork", metavar="FILE", help="begin with a buffer of this transcript")
    parser.add_argument(
        "--at",
        metavar="N",
        help="with --fork: the request, 0-based, negative from the end, or `end`",
    )
    parser.add_argument(
        "--thread", metavar="ID", default="main", help="with --fork: the thread (main)"
    )
    parser.add_argument(
        "--prompt",
        choices=("recorded", "ours"),
        default="recorded",
        help="with --fork: the recorded system prompt, or the built-in agent's",
    )


def run(arguments: argparse.Namespace) -> None:
    """Run the agent to its end. Raises InspectorError if the run cannot begin, or ends with an error or at its
    limit.
    """
    statuses: queue.SimpleQueue[RunStatus] = queue.SimpleQueue()
    plan = plan_of(arguments)
    if plan.permissions == "never" and not arguments.no:
        note("no terminal to ask on: nothing is written and no command is run; --yes allows both.")
    runner = Runner(plan, statuses.put)
    printer = _TurnPrinter(arguments.json)
    try:
        runner.start()
        ended = _attend(runner, statuses, printer)
    except KeyboardInterrupt:
        runner.stop()
        runner.close()
        while not statuses.empty():
            printer.take(statuses.get())
        raise
    finally:
        runner.close()
    printer.end(ended)
    if ended.end == "error":
        raise InspectorError(f"the run ended with an error: {ended.error}")
    if ended.end == "max turns":
        raise InspectorError(
            "the run reached its limit of turns; continue it with --resume JOURNAL."
        )


def _attend(
    runner: Runner, statuses: "queue.SimpleQueue[RunStatus]", printer: "_TurnPrinter"
) -> RunStatus:
    """Print turns, and ask the user for permissions, until the run has ended."""
    asked_id = ""
    while True:
        status = statuses.get()
        printer.take(status)
        if status.state == "ended":
            return status
        if status.asked is not None and status.asked.id != asked_id:
            asked_id = status.asked.id
            runner.permit(asked_id, ask_person(status.asked))
        elif status.asked is None:
            asked_id = ""


def plan_of(arguments: argparse.Namespace) -> Plan:
    """Return the plan that the options describe. Raises InspectorError."""
    changes = _changes(arguments)
    if arguments.resume:
        if (
            arguments.record
            and Path(arguments.record).resolve() != Path(arguments.resume).resolve()
        ):
            raise InspectorError("A resumed run keeps its journal: leave --record out.")
        return resume(Path(arguments.resume), arguments.task, **changes)
    if arguments.demo:
        return _demo(arguments)
    if not arguments.record:
        raise InspectorError("A run needs a journal: give --record FILE.")
    if not arguments.task.strip() and not arguments.fork:
        raise InspectorError("A run needs a task: give --task TEXT.")
    workspace = Path(arguments.workspace or ".")
    if not arguments.fork:
        return Plan(
            **{
                "task": arguments.task,
                "workspace": workspace,
                "record": Path(arguments.record),
                **changes,
            }
        )
    return _fork_plan(arguments, changes, workspace)


_DEMO_CHANGES = ("settings", "needs_by", "limits")
"""Fields of the plan, besides the policy, that options may change in a demo."""


def _demo(arguments: argparse.Namespace) -> Plan:
    """Return the plan of the demo. If there is no terminal to ask on, its throw-away workspace may be changed
    freely.
    """
    folder = demo_folder()
    permissions: Permissions = "always" if arguments.yes or not _can_ask() else "ask"
    policy = arguments.policy or DEFAULT_POLICY
    plan = demo_plan(folder, "never" if arguments.no else permissions, policy=policy)
    changes = _changes(arguments)
    chosen = {name: changes[name] for name in _DEMO_CHANGES if name in changes}
    plan = replace(
        plan, **chosen, record=Path(arguments.record) if arguments.record else plan.record
    )
    note(f"the workspace is {plan.workspace}, the journal {plan.record}")
    return plan


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _fork_plan(arguments: argparse.Namespace, changes: dict[str, Any], workspace: Path) -> Plan:
    session = open_transcript(arguments.fork, progress=progress_line())
    thread = thread_of(session, arguments.thread)
    chosen = Selection(session, thread, find_request_place(thread, _place(arguments.at)))
    start = fork(session, thread, chosen.request, workspace, system=arguments.prompt)
    for change in start.changes:
        note(change)
    plan = Plan(arguments.task, workspace, Path(arguments.record))
    return replace(plan, start=start.start, forked_from=start.forked_from, **changes)


def _place(at: str | None) -> int | str | None:
    if at is None or at == "end":
        return at
    try:
        return int(at)
    except ValueError:
        raise InspectorError(f"--at takes a number or `end`, not {at!r}.") from None


def _changes(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of the plan that the options set."""
    permissions: Permissions = "never"
    if arguments.yes:
        permissions = "always"
    elif not arguments.no and _can_ask():
        permissions = "ask"
    changes: dict[str, Any] = {
        "provider": arguments.provider,
        "model": arguments.model,
        "policy": arguments.policy,
        "settings": tuple(arguments.set or ()) or None,
        "window": arguments.window,
        "needs_by": arguments.answerer,
        "memory": arguments.memory,
        "workspace": Path(arguments.workspace) if arguments.workspace else None,
        "limits": RunLimits(max_turns=arguments.max_turns) if arguments.max_turns else None,
    }
    return {
        "permissions": permissions,
        **{key: value for key, value in changes.items() if value is not None},
    }


class _TurnPrinter:
    """Prints one line for each turn."""

    def __init__(self, json: bool) -> None:
        self._json = json
        self._printed = 0
        self._waited = ""
        self._last: TurnReport | None = None

    def take(self, status: RunStatus) -> None:
        """Print the newest turn of a status if it was not printed before."""
        report = status.report
        if status.state == "calling" and status.why and status.why != self._waited:
            note(plain(status.why))
        self._waited = status.why
        if report is None or report.number <= self._printed:
            return
        self._printed = report.number
        self._last = report
        if self._json:
            write_json(document(report))
        else:
            write_lines([turn_line(report)])
        sys.stdout.flush()

    def end(self, status: RunStatus) -> None:
        """Print how the run ended: its last text, or one more line of JSON."""
        text = self._last.text if self._last is not None and not self._last.error else ""
        if self._json:
            write_json(
                {"end": status.end, "turns": self._printed, "error": status.error, "text": text}
            )
        elif status.end == "done":
            write_lines(["", *(plain(line) for line in text.splitlines())])
        sys.stdout.flush()


def document(report: TurnReport) -> dict[str, Any]:
    """Return a turn as JSON for `--json`."""
    return {
        **picked(report, "turn thread reported estimated calibrated"),
        "predicted": report.expected.predicted.tokens if report.expected.predicted else None,
        "band": report.expected.band if report.reported is None else None,
        **picked(
            report, "believed=calibrated tokens kind output window ratio:6 fired tools finish"
        ),
        "text": report.text[:TEXT],
        "error": report.error,
    }


def turn_line(report: TurnReport) -> str:
    """Return the line of a turn in the text output.

    `main  3  12,034 reported  30.1% of 40,000  [L0, L1]  read_file: Let me read what is there.`
    """
    share = ""
    if report.ratio is not None:
        share = f"{per_cent(report.ratio, places=1):>7} of {number(report.window)}"
    last_text = plain(report.error or report.text, TEXT)
    cells = [
        plain(report.thread, 16).ljust(4),
        f"{report.turn:>4}",
        f"{number(report.tokens):>9} {report.kind:10}",
        share,
        f"[{', '.join(report.fired)}]" if report.fired else "",
        plain(", ".join(report.tools)) or report.finish,
        last_text,
    ]
    return "  ".join(cell for cell in cells if cell).rstrip()
