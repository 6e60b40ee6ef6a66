"""`context-inspector report FILE -o report.html`: one HTML file about a session, without what is private."""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from inspector.cli.output import note, plain, table, write_json, write_lines
from inspector.cli.select import Selection, add_options, add_selection, select
from inspector.cli.sharing.page import ReportSection, TimelineData, write_page
from inspector.cli.sharing.redaction import PrivateText, Redaction
from inspector.core.errors import InspectorError
from inspector.core.findings.answers import fullest_request, short_answers
from inspector.core.findings.breakdown import break_down, tool_calls
from inspector.core.findings.lost import CompactionLoss, recorded_losses
from inspector.core.findings.lost_rows import SHOWN, VERDICT_WORDS
from inspector.core.findings.spending import session_cost
from inspector.core.message import part_text
from inspector.core.tokens.pressure import Pressures, known_pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.words import dollars, per_cent, plural

_LONGEST_QUOTE = 20_000
"""Characters of a chosen message."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
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
    parser.add_argument(
        "--redact", choices=("all",), help="replace everything that is listed, without a question"
    )
    add_options(parser, "--force")


def run(arguments: argparse.Namespace) -> None:
    """List what is private, ask, and write the report. Raises InspectorError."""
    output = Path(arguments.output)
    if output.exists() and not arguments.force:
        raise InspectorError(f"{output} exists; give --force to replace it.")
    chosen = select(arguments)
    title = f"Context report: {Path(chosen.session.path).name}"
    sections = describe_report(chosen, arguments.window, arguments.message)
    redaction = Redaction([title, *(text for section in sections for text in section.texts())])
    if redaction.found:
        _review(redaction.found, arguments.redact == "all")
    page = write_page(
        redaction.replace(title),
        [_redact(section, redaction) for section in sections],
        _timeline(chosen, arguments),
    )
    _write(output, page)
    if arguments.json:
        write_json(
            {"output": str(output), "bytes": len(page.encode()), "redacted": len(redaction.found)}
        )
    else:
        note(
            f"{output} was written: {len(page.encode()):,} bytes, {plural(len(redaction.found), 'text')} redacted."
        )


def _review(texts: Sequence[PrivateText], is_agreed: bool) -> None:
    """Show what will be replaced, and ask. Raises InspectorError without a yes."""
    if is_agreed:
        return
    rows = [(private.kind, str(private.times), plain(private.preview, 70)) for private in texts]
    write_lines(table(("kind", ">times", "text"), rows))
    if not sys.stdin.isatty():
        raise InspectorError(
            "These texts look private, so nothing was written. Give --redact all to replace them."
        )
    sys.stderr.write("Replace all of them and write the report? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InspectorError("Nothing was written.")


def _redact(section: ReportSection, redaction: Redaction) -> ReportSection:
    rows = [list(map(redaction.replace, row)) for row in section.rows]
    return replace(
        section,
        title=redaction.replace(section.title),
        paragraphs=list(map(redaction.replace, section.paragraphs)),
        rows=rows,
        quotes=list(map(redaction.replace, section.quotes)),
    )


def _write(output: Path, page: str) -> None:
    draft = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        draft.write_text(page, "utf-8")
        draft.replace(output)
    finally:
        draft.unlink(missing_ok=True)


# -- what it says ------------------------------------------------------------------------------------------------------


def describe_report(
    chosen: Selection, window: int | None, messages: Sequence[str]
) -> list[ReportSection]:
    """Return the sections of the report. Raises InspectorError for a message that is not there.

    Args:
        window: the user's window in tokens; None for the model's.
        messages: ids of messages to quote.
    """
    thread = chosen.thread
    pressures = known_pressures(thread)

    def window_at(at: int | None) -> int | None:
        return replace(chosen, at=len(thread.requests) if at is None else at).window(window).tokens

    answers = short_answers(chosen.session, thread, window_at)
    losses = recorded_losses(chosen.session, thread).each
    return [
        ReportSection("In three sentences", [answer.text for answer in answers]),
        _filling_section(chosen, pressures),
        *(_loss_section(loss) for loss in losses),
        _cost_section(chosen),
        *_message_sections(chosen, messages),
    ]


def _timeline(chosen: Selection, arguments: argparse.Namespace) -> TimelineData:
    pressures = known_pressures(chosen.thread)
    window = replace(chosen, at=len(chosen.thread.requests)).window(arguments.window).tokens
    compactions = [compaction.before_request for compaction in chosen.thread.compactions]
    return TimelineData([pressure.tokens or 0 for pressure in pressures], window, compactions)


def _filling_section(chosen: Selection, pressures: Pressures) -> ReportSection:
    at = fullest_request(pressures)
    place = len(chosen.thread.requests) if at is None else at
    size = sizer(pressures, place)
    buffer = chosen.thread.place(place).buffer()
    tree = break_down(size, size.pressure, buffer, tool_calls(chosen.session, chosen.thread)).tree
    whole = max(tree.tokens, 1)
    nodes = [
        (depth, node) for depth, node in tree.walk() if 0 < depth < 3 and 100 * node.tokens >= whole
    ]
    rows = [
        (f"{'  ' * (depth - 1)}{node.name}", f"{node.tokens:,}", per_cent(node.tokens / whole))
        for depth, node in nodes
    ]
    heads = ("part", "tokens", "share")
    return ReportSection(
        f"What filled request {place}",
        ["Parts of less than 1% are left out."],
        heads,
        rows,
        frozenset({1, 2}),
    )


def _loss_section(loss: CompactionLoss) -> ReportSection:
    rows = []
    for line in loss.shown[:SHOWN]:
        requests = sorted({use.request for row in line.rows for use in row.needed})
        rows.append(
            (VERDICT_WORDS[line.first.verdict], line.text, ", ".join(map(str, requests[:5])))
        )
    heads = ("verdict", "what", "needed again at")
    title = f"Lost by the compaction before request {loss.before_request}"
    return ReportSection(title, [loss.forgetting.sentence], heads, rows)


def _cost_section(chosen: Selection) -> ReportSection:
    cost = session_cost(chosen.session)
    rows = [
        (model or "unknown model", dollars(subtotal.usd))
        for model, subtotal in cost.by_model.items()
    ]
    return ReportSection("Cost", [], ("model", "cost"), rows, frozenset({1}))


def _message_sections(chosen: Selection, ids: Sequence[str]) -> list[ReportSection]:
    if not ids:
        return []
    by_id = {message.id: message for message in chosen.thread.messages}
    missing = [id_ for id_ in ids if id_ not in by_id]
    if missing:
        raise InspectorError(
            f"There is no message {missing[0]!r} in this thread; `buffer --json` lists the ids."
        )
    quotes = []
    for id_ in ids:
        text = "\n".join(filter(None, map(part_text, by_id[id_].parts)))
        quotes.append(f"{by_id[id_].role}\n\n{text[:_LONGEST_QUOTE]}")
    return [ReportSection("Chosen messages", quotes=quotes)]
