"""`context-inspector report FILE -o report.html`: write one HTML file about a session, without private texts."""

import argparse
from dataclasses import replace

from inspector.cli.output import note, write_json
from inspector.cli.select import Selection, add_options, add_selection, select
from inspector.cli.sharing.review import add_review_options, review_texts
from inspector.core.words import plural
from inspector.transcripts.saving import check_target, save_text
from inspector.workbench.sharing.report import WindowAt, draft_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_selection(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="the HTML file to write"
    )
    parser.add_argument(
        "--message",
        metavar="ID",
        action="append",
        default=[],
        help="also show this message; repeatable",
    )
    add_review_options(parser)
    add_options(parser, "--force")


def run(arguments: argparse.Namespace) -> None:
    """List the private texts, ask, and write the report. Raises InspectorError."""
    check_target(arguments.output, arguments.force)
    chosen = select(arguments)
    window_at = windows_of(chosen, arguments.window)
    draft = draft_report(chosen.session, chosen.thread, window_at, arguments.message)
    redaction = review_texts(draft.found, arguments, "report")
    page = draft.write(redaction)
    save_text(page, path=arguments.output, force=arguments.force, source=chosen.session.path)
    size = len(page.encode())
    output = arguments.output
    if arguments.json:
        write_json({"output": output, "bytes": size, "redacted": len(redaction)})
    else:
        note(f"{output} was written: {size:,} bytes, {plural(len(redaction), 'text')} redacted.")


def windows_of(chosen: Selection, window: int | None) -> WindowAt:
    """Return a function that gives the window at each request. `window` is the user's own, in tokens; None: the
    model's.
    """

    def window_at(at: int | None) -> int | None:
        place = len(chosen.thread.requests) if at is None else at
        return replace(chosen, at=place).window(window).tokens

    return window_at
