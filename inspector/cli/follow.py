"""`context-inspector follow FILE`: pressure as a transcript grows, a line for every new request. Ctrl+C ends it."""

import argparse
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from inspector.cli.changes import sizes_document
from inspector.cli.output import columns, note, number, picked, plain, pressure_document, write_json, write_lines
from inspector.cli.select import add_options, chosen_policy, policy_count
from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import DEFAULT_POLICY, POLICIES
from inspector.core.policies.harness import Policy
from inspector.core.policies.settings import SettingPairs
from inspector.core.session import BEGINS_LATE, Request, Session, Thread
from inspector.core.tokens.change_sizes import compaction_sizes
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, estimator
from inspector.core.tokens.pressure import Pressure, Pressures, thread_pressures
from inspector.core.tokens.windows import Window, find_window, model_at
from inspector.extensions.windows import user_windows
from inspector.transcripts.files import path_of
from inspector.transcripts.follow import FollowNews, follow, follow_newest

SOON = 0.3
"""Seconds that a request waits for its usage: some agents write it after the answer, in a line of its own."""
HELD = 60.0
"""Seconds of silence that it waits in JSON, where the usage is sure to come: scripts count on one line a request."""
_LATE = ("codex", "opencode")
"""Formats in which the usage comes when the tools have run, or when the answer is complete."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("file", metavar="FILE", nargs="?", help="a transcript that is being written")
    what.add_argument("--project", metavar="FOLDER", help="the newest session of this folder, and the next that starts")
    add_options(parser, "--session")
    parser.add_argument("--all", action="store_true", help="tell the requests first that are there already")
    add_options(parser, "--format", help="read it as this format")
    add_options(parser, "--policy", "--set", "--window")
    add_options(parser, "--json", help="print a line of JSON for each request")


def run(arguments: argparse.Namespace) -> None:
    """Print until Ctrl+C. Raises InspectorError."""
    if arguments.session and arguments.file is None:
        raise InspectorError("--session goes with FILE, not with --project")
    path = Path(arguments.file or "")
    empty = path.is_file() and not path.stat().st_size
    policy, pairs = chosen_policy(arguments), tuple(arguments.set or ())
    printer = RequestPrinter(arguments.json, arguments.all or empty, arguments.window, policy, pairs)
    try:
        if arguments.project is not None:
            note(f"following the newest session of {plain(arguments.project)}; Ctrl+C ends it.")
            follow_newest(arguments.project, printer.take, printer.rest, switched=printer.switch, tell=_note_news)
        else:
            path = path_of(path, arguments.session) if arguments.session else path
            follow(path, printer.take, printer.rest, format=arguments.format, tell=_note_news)
    except KeyboardInterrupt:
        printer.rest_of_it()


def _note_news(news: FollowNews) -> None:
    note(news.sentence)


class RequestPrinter:
    """Prints a request once, as soon as its numbers are there; once more when they have changed since."""

    def __init__(
        self,
        json: bool,
        everything: bool,
        window: int | None,
        policy: Policy[Any, Any] = POLICIES[DEFAULT_POLICY],
        pairs: SettingPairs = (),
    ) -> None:
        self._json, self._everything, self._window = json, everything, window
        self._policy, self._pairs = policy, pairs
        self._models = user_windows()
        self._measure = estimator(DEFAULT_ESTIMATOR)
        self._pressures: dict[str, Pressures] = {}
        self._told: dict[str, list[tuple[object, ...]]] = {}
        """By thread: what was reported of each request, in order."""
        self._windows: dict[tuple[str, str, int | None, int], Window] = {}
        self._waiting: tuple[Session, float] | None = None
        self._rests = 0

    def rest(self, seconds: float) -> bool:
        """Rest between two looks; meanwhile a request may have waited long enough. Never stops: Ctrl+C does."""
        if self._waiting is not None and time.monotonic() >= self._waiting[1]:
            self.rest_of_it()
        time.sleep(seconds)
        self._rests += bool(seconds)
        return False

    def rest_of_it(self) -> None:
        """Tell what still waits for its usage."""
        if self._waiting is not None:
            session, self._waiting = self._waiting[0], None
            self._print(session, final=True)

    def switch(self, path: Path) -> None:
        """Another session from now on. All requests of one that starts while we look are new."""
        self.rest_of_it()
        note(f"now following {plain(str(path))}.")
        self._everything = self._everything or self._rests > 1
        self._told.clear()
        self._pressures.clear()
        self._windows.clear()
        self._waiting = None

    def take(self, session: Session) -> None:
        """The session has grown."""
        if not self._told and not self._everything:
            self._skip(session)
            return
        self._print(session, final=False)

    def _skip(self, session: Session) -> None:
        """What is there when following begins is not told."""
        for thread in session.threads:
            self._told[thread.id] = [_key(request) for request in thread.requests]
            self._pressures[thread.id] = thread_pressures(thread, self._measure)
        self._told.setdefault("main", [])
        count = sum(map(len, self._told.values()))
        if session.begins_late:
            note(BEGINS_LATE)
        note(f"following {plain(session.path)}: {count:,} requests so far; Ctrl+C ends it.")

    def _print(self, session: Session, *, final: bool) -> None:
        patience: list[float] = []  # seconds without news after which a last request is told without its usage
        for thread in session.threads:
            former = self._pressures.get(thread.id)
            pressures = self._pressures[thread.id] = thread_pressures(thread, self._measure, former)
            told = self._told.setdefault(thread.id, [])
            last = len(thread.requests) - 1
            for n in _changed(thread, told):
                request = thread.requests[n]
                if request.usage is None and n == last and n == len(told) and not final:
                    late = session.format in _LATE or any(one.usage for one in thread.requests[-3:-1])
                    patience.append(HELD if self._json and late else SOON)
                    break
                revised = n < len(told)
                told[n : n + 1] = [_key(request)]
                window = self._find_window(session, thread, n, pressures[n])
                count = policy_count(self._policy, self._pairs, session, thread, n, pressures, window)
                document = describe_request(thread, n, pressures, window, count)
                document |= {"revised": True} if revised else {}
                if self._json:
                    write_json(document)
                else:
                    write_lines([_line(document)])
            del told[len(thread.requests) :]
        self._waiting = (session, time.monotonic() + min(patience)) if patience else None
        sys.stdout.flush()

    def _find_window(self, session: Session, thread: Thread, at: int, pressure: Pressure) -> Window:
        """Looked for anew, O(requests), only where a larger context or a compaction may give another one away."""
        key = (thread.id, model_at(thread, at), thread.requests[at].window, len(thread.compactions))
        known = self._windows.get(key)
        if known is None or known.tokens is None or (pressure.tokens or 0) > known.tokens:
            known = self._windows[key] = find_window(session, thread, at, self._window, self._models)
        return known


def _key(request: Request) -> tuple[object, ...]:
    """What a request is known by: another one of these at its place is another request, or has other numbers."""
    return request.line, request.time, request.usage.prompt if request.usage else None, request.predicted


def _changed(thread: Thread, told: list[tuple[object, ...]]) -> Iterator[int]:
    """Indexes of the requests that are not as they were told. From the end: O(what has changed) as a rule."""
    same = min(len(thread.requests), len(told))
    while same and told[same - 1] != _key(thread.requests[same - 1]):
        same -= 1
    yield from range(same, len(thread.requests))


def describe_request(thread: Thread, at: int, pressures: Pressures, window: Window, believed: int) -> dict[str, Any]:
    """Describe request `at` as one line of `follow`."""
    request = thread.requests[at]
    return {
        "thread": thread.id,
        "index": at,
        **pressure_document(pressures, at, window.tokens, believed),
        "window_source": window.source,
        "messages": len(request.view),
        **picked(request, "model time line"),
        "compactions": list(_compactions(thread, pressures, at)),
    }


def _compactions(thread: Thread, pressures: Pressures, at: int) -> Iterator[dict[str, Any]]:
    """Those recorded between this request and the one before."""
    listed = thread.compactions
    first = bisect_left(listed, at, key=lambda one: one.before_request)
    for one in takewhile(lambda one: one.before_request == at, islice(listed, first, None)):
        sizes = sizes_document(compaction_sizes(thread, pressures, one))
        yield {**picked(one, "kind trigger"), **sizes, "cleared": len(one.cleared)}


def _line(told: dict[str, Any]) -> str:
    """`12:03:44  main  17   84,210 reported  42.1% of 200,000   compacted: auto 180,000 -> 21,000`."""
    share = f"{100 * told['ratio']:5.1f}% of {number(told['window'])}" if told["ratio"] is not None else ""
    fired = "; ".join(
        f"{one['kind']} {one['trigger']} {number(one['tokens_before'])} to {number(one['tokens_after'])}"
        for one in told["compactions"]
    )
    name = plain(told["thread"], 16)
    cells = [
        plain(told["time"][11:19]) or " " * 8,
        name + " " * (16 - columns(name)),
        f"{number(told['index']):>6}",
        f"{number(told['tokens']):>11} {told['kind']:10}",
        share,
        f"compacted: {plain(fired)}" if fired else "",
        "once more, with its usage" if told.get("revised") else "",
    ]
    return "  ".join(cell for cell in cells if cell).rstrip()
