"""`context-inspector follow FILE`: print the pressure of each new request as a transcript grows. Ctrl+C ends it."""

import argparse
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from inspector.cli.changes import sizes_document
from inspector.cli.output import (
    columns,
    note,
    number,
    picked,
    plain,
    pressure_document,
    write_json,
    write_lines,
)
from inspector.cli.select import add_options, chosen_policy, policy_count
from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import DEFAULT_POLICY, POLICIES
from inspector.core.policies.harness import Policy
from inspector.core.policies.settings import SettingPairs
from inspector.core.session import BEGINS_LATE, Request, Session, Thread
from inspector.core.tokens.change_sizes import compaction_sizes
from inspector.core.tokens.pressure import Pressure, Pressures, thread_pressures
from inspector.core.tokens.windows import Window, find_window, model_at
from inspector.core.words import plural
from inspector.extensions.windows import user_windows
from inspector.transcripts.files import find_session_path
from inspector.transcripts.follow import FollowNews, follow, follow_newest

SOON = 0.3
"""Seconds that a request waits for its usage, which some agents write in a separate line after the answer."""
HELD = 60.0
"""Seconds that a request waits in JSON if its usage is expected: scripts rely on one line per request."""
_LATE = ("codex", "opencode")
"""Formats that write the usage only after the tools have run or the answer is complete."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("file", metavar="FILE", nargs="?", help="a transcript that is being written")
    what.add_argument(
        "--project",
        metavar="FOLDER",
        help="the newest session of this folder, then each newer one",
    )
    add_options(parser, "--session")
    parser.add_argument(
        "--all", action="store_true", help="begin with the requests that are already in the file"
    )
    add_options(parser, "--format", help="read it as this format")
    add_options(parser, "--policy", "--set", "--window")
    add_options(parser, "--json", help="print a line of JSON for each request")


def run(arguments: argparse.Namespace) -> None:
    """Print requests until Ctrl+C. Raises InspectorError."""
    if arguments.session and arguments.file is None:
        raise InspectorError("--session needs FILE: --project always follows the newest session.")
    path = Path(arguments.file or "")
    empty = path.is_file() and not path.stat().st_size
    policy = chosen_policy(arguments)
    pairs = tuple(arguments.set or ())
    printer = RequestPrinter(
        arguments.json,
        everything=arguments.all or empty,
        window=arguments.window,
        policy=policy,
        pairs=pairs,
    )
    try:
        if arguments.project is not None:
            note(f"following the newest session of {plain(arguments.project)}; Ctrl+C ends it.")
            follow_newest(
                arguments.project,
                printer.take,
                printer.rest,
                switched=printer.switch,
                tell=_note_news,
            )
        else:
            path = find_session_path(path, arguments.session) if arguments.session else path
            follow(path, printer.take, printer.rest, format=arguments.format, tell=_note_news)
    except KeyboardInterrupt:
        printer.print_waiting()


def _note_news(news: FollowNews) -> None:
    note(news.sentence)


class RequestPrinter:
    """Prints each request once as soon as its numbers are known, and again if they change later."""

    def __init__(
        self,
        json: bool,
        everything: bool,
        window: int | None,
        policy: Policy[Any, Any] = POLICIES[DEFAULT_POLICY],
        pairs: SettingPairs = (),
    ) -> None:
        self._json = json
        self._everything = everything
        self._window = window
        self._policy = policy
        self._pairs = pairs
        self._models = user_windows()
        self._pressures: dict[str, Pressures] = {}
        self._printed: dict[str, list[tuple[object, ...]]] = {}
        """For each thread, the keys of the printed requests in order."""
        self._windows: dict[tuple[str, str, int | None, int], Window] = {}
        self._waiting: Session | None = None
        """The session whose last request waits for its usage."""
        self._print_at = 0.0
        """The time at which that request is printed without its usage."""
        self._rests = 0

    def rest(self, seconds: float) -> bool:
        """Rest between two reads, and print a request that has waited long enough. Return False: only Ctrl+C stops."""
        if self._waiting is not None and time.monotonic() >= self._print_at:
            self.print_waiting()
        time.sleep(seconds)
        self._rests += bool(seconds)
        return False

    def print_waiting(self) -> None:
        """Print the request that is still waiting for its usage."""
        session = self._waiting
        if session is not None:
            self._waiting = None
            self._print(session, final=True)

    def switch(self, path: Path) -> None:
        """Follow another session from now on. All requests of a session that has just started are new."""
        self.print_waiting()
        note(f"now following {plain(str(path))}.")
        self._everything = self._everything or self._rests > 1
        self._printed.clear()
        self._pressures.clear()
        self._windows.clear()
        self._waiting = None

    def take(self, session: Session) -> None:
        """Print the new requests of a session that has grown."""
        if not self._printed and not self._everything:
            self._skip(session)
            return
        self._print(session, final=False)

    def _skip(self, session: Session) -> None:
        """Skip the requests that exist when following begins."""
        for thread in session.threads:
            self._printed[thread.id] = [_key(request) for request in thread.requests]
            self._pressures[thread.id] = thread_pressures(thread)
        self._printed.setdefault("main", [])
        count = sum(map(len, self._printed.values()))
        if session.begins_late:
            note(BEGINS_LATE)
        note(f"following {plain(session.path)}: {plural(count, 'request')} so far; Ctrl+C ends it.")

    def _print(self, session: Session, *, final: bool) -> None:
        """Print what is new or has changed. `final`: also print a last request that has no usage."""
        waits = [
            wait
            for thread in session.threads
            for wait in self._print_thread(session, thread, final)
        ]
        self._waiting = session if waits else None
        if waits:
            self._print_at = time.monotonic() + min(waits)
        sys.stdout.flush()

    def _print_thread(self, session: Session, thread: Thread, final: bool) -> Iterator[float]:
        """Print the new requests of a thread, and yield the seconds to wait for the usage of its last one, if any."""
        former = self._pressures.get(thread.id)
        pressures = self._pressures[thread.id] = thread_pressures(thread, former=former)
        printed = self._printed.setdefault(thread.id, [])
        for place in _changed_requests(thread, printed):
            request = thread.requests[place]
            is_last = place == len(thread.requests) - 1 and place == len(printed)
            if request.usage is None and is_last and not final:
                comes_late = session.format in _LATE or any(
                    request.usage for request in thread.requests[-3:-1]
                )
                yield HELD if self._json and comes_late else SOON
                break
            is_revised = place < len(printed)
            printed[place : place + 1] = [_key(request)]
            self._print_request(
                session, thread, at=place, pressures=pressures, is_revised=is_revised
            )
        del printed[len(thread.requests) :]

    def _print_request(
        self, session: Session, thread: Thread, at: int, pressures: Pressures, is_revised: bool
    ) -> None:
        window = self._find_window(session, thread, at, pressures[at])
        count = policy_count(self._policy, self._pairs, session, thread, at, window)
        document = describe_request(thread, at, pressures, window, believed=count)
        if is_revised:
            document["revised"] = True
        if self._json:
            write_json(document)
        else:
            write_lines([_line(document)])

    def _find_window(self, session: Session, thread: Thread, at: int, pressure: Pressure) -> Window:
        """Return the window, from the cache if possible.

        It is looked up again, in O(requests), only if a larger context or a compaction may have changed it.
        """
        key = (thread.id, model_at(thread, at), thread.requests[at].window, len(thread.compactions))
        window = self._windows.get(key)
        if window is None or window.tokens is None or (pressure.tokens or 0) > window.tokens:
            window = self._windows[key] = find_window(
                session, thread, at, self._window, self._models
            )
        return window


def _key(request: Request) -> tuple[object, ...]:
    """Return a key that identifies a request and its numbers."""
    return (
        request.line,
        request.time,
        request.usage.prompt if request.usage else None,
        request.predicted,
    )


def _changed_requests(thread: Thread, printed: list[tuple[object, ...]]) -> range:
    """Return the indices of requests that differ from what was printed. Compares from the end: usually O(changes)."""
    same = min(len(thread.requests), len(printed))
    while same and printed[same - 1] != _key(thread.requests[same - 1]):
        same -= 1
    return range(same, len(thread.requests))


def describe_request(
    thread: Thread, at: int, pressures: Pressures, window: Window, believed: int
) -> dict[str, Any]:
    """Describe request `at` as one line of `follow`."""
    request = thread.requests[at]
    return {
        "thread": thread.id,
        "index": at,
        **pressure_document(thread, pressures, at, window=window.tokens, believed=believed),
        "window_source": window.source,
        "messages": len(request.view),
        **picked(request, "model time line"),
        "compactions": list(_compactions(thread, pressures, at)),
    }


def _compactions(thread: Thread, pressures: Pressures, at: int) -> Iterator[dict[str, Any]]:
    """Yield the compactions recorded between the previous request and this one."""
    first = bisect_left(thread.compactions, at, key=lambda compaction: compaction.before_request)
    for compaction in islice(thread.compactions, first, None):
        if compaction.before_request != at:
            break
        sizes = sizes_document(compaction_sizes(thread, pressures, compaction))
        yield {**picked(compaction, "kind trigger"), **sizes, "cleared": len(compaction.cleared)}


def _compaction_words(compaction: dict[str, Any]) -> str:
    sizes = f"{number(compaction['tokens_before'])} to {number(compaction['tokens_after'])}"
    return f"{compaction['kind']} {compaction['trigger']} {sizes}"


def _line(document: dict[str, Any]) -> str:
    """Return the line of a request in the text output.

    `12:03:44  main  17   84,210 reported  42.1% of 200,000   compacted: summary auto 180,000 to 21,000`
    """
    share = ""
    if document["ratio"] is not None:
        share = f"{100 * document['ratio']:5.1f}% of {number(document['window'])}"
    fired = "; ".join(map(_compaction_words, document["compactions"]))
    name = plain(document["thread"], 16)
    cells = [
        plain(document["time"][11:19]) or " " * 8,
        name + " " * (16 - columns(name)),
        f"{number(document['index']):>6}",
        f"{number(document['tokens']):>11} {document['kind']:10}",
        share,
        f"compacted: {plain(fired)}" if fired else "",
        "now with its usage" if document.get("revised") else "",
    ]
    return "  ".join(cell for cell in cells if cell).rstrip()
