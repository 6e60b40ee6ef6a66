"""`context-inspector lost FILE`: what the recorded compactions lost, and what of it was needed again."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any, get_args

from inspector.cli.output import note, number, picked, plain, table, write_json, write_lines
from inspector.cli.select import Selection, add_options, add_selection, select
from inspector.core.errors import InspectorError
from inspector.core.findings.answers import NO_COMPACTION, lost_answer
from inspector.core.findings.give_back import NOTHING_OPEN, give_back_text, open_and_gone
from inspector.core.findings.judging import judged, price_judging, text_after
from inspector.core.findings.lost import CompactionLoss, RecordedLosses, recorded_losses
from inspector.core.findings.lost_rows import SHOWN, VERDICT_WORDS, LostRow, LostVerdict, ShownLine
from inspector.core.replay.economics import paid_words
from inspector.core.words import dollars, plural
from inspector.providers.answerers import answerer, simulated_api

HOW = {"call": "tool_call", "answer": "answer", "user": "user"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_selection(parser)
    parser.add_argument(
        "--compaction",
        metavar="N",
        type=int,
        help="only this compaction: 0-based, negative from the end",
    )
    parser.add_argument(
        "--give-back",
        metavar="ROWS",
        nargs="?",
        const="",
        help="print the open facts, or the facts in these rows (such as 1,3), as text to paste into the session",
    )
    parser.add_argument(
        "--judge",
        metavar="WHO",
        help="ask a model about the facts marked `not sure`: anthropic, openai, ...",
    )
    add_options(parser, "--model")
    parser.add_argument(
        "--all",
        action="store_true",
        help=f"print all rows worth reading, not only the first {SHOWN}",
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the losses. Raises InspectorError."""
    chosen = select(arguments)
    losses = recorded_losses(chosen.session, chosen.thread)
    if (index := arguments.compaction) is not None:
        count = len(losses.each)
        if not -count <= index < count:
            raise InspectorError(
                f"there is no compaction {index}: the thread has {count}, counted from 0."
            )
        losses = replace(losses, each=(losses.each[index],))
    if arguments.judge:
        losses = _judge_losses(chosen, losses, arguments)
    if arguments.give_back is not None:
        _give_back(losses, arguments)
    elif arguments.json:
        write_json(losses_document(losses))
    else:
        nothing = "" if losses.each else lost_answer(chosen.session, chosen.thread).text
        write_lines(lost_lines(losses, None if arguments.all else SHOWN, nothing))


def _give_back(losses: RecordedLosses, arguments: argparse.Namespace) -> None:
    """Print what the chosen compaction lost, as text to paste; by default the last compaction."""
    rows = losses.each[-1].rows if losses.each else ()
    chosen = open_and_gone(rows)
    if row_list := arguments.give_back:
        lines = losses.each[-1].shown if losses.each else ()
        places = _row_numbers(row_list, len(lines))
        chosen = tuple(row for place in places for row in lines[place - 1].rows)
    text = give_back_text(chosen)
    if arguments.json:
        write_json({"text": text, "rows": len(chosen)})
    else:
        write_lines(text.split("\n") if text else [NOTHING_OPEN])


def _row_numbers(text: str, count: int) -> list[int]:
    """Return the row numbers of `--give-back 1,3`, counted from 1 as in the table. Raises InspectorError."""
    numbers = [
        int(number_text) for number_text in text.split(",") if number_text.strip().isdecimal()
    ]
    if not numbers or not all(1 <= row_number <= count for row_number in numbers):
        raise InspectorError(
            f"--give-back takes rows from 1 to {count}, such as 1,3, or nothing for all open facts."
        )
    return numbers


def _judge_losses(
    chosen: Selection, losses: RecordedLosses, arguments: argparse.Namespace
) -> RecordedLosses:
    """Ask a model about the unsure rows, after printing the maximum cost. Raises InspectorError."""
    model = arguments.model or chosen.thread.model
    is_free = simulated_api(arguments.judge, model) is not None
    each = []
    with closing(answerer(arguments.judge, model)) as answer:
        for loss in losses.each:
            replacement = text_after(chosen.thread, loss.before_request)
            price = price_judging(loss.rows, replacement, model)
            if price.rows:
                if is_free:
                    note(f"asking the simulated provider about {plural(price.rows, 'row')}: free")
                else:
                    note(f"asking {model or 'a model'} about {price.words}")
                try:
                    loss = replace(loss, rows=judged(loss.rows, replacement, answer))
                except InspectorError as trouble:
                    note(str(trouble))
            each.append(loss)
    return replace(losses, each=tuple(each))


def losses_document(losses: RecordedLosses) -> dict[str, Any]:
    """Return the document of cli.md's `lost`."""
    together = picked(
        losses.together,
        "facts kept paraphrased lost needed_again=needed_later lost_words needed_words",
    )
    return {"compactions": [describe(loss) for loss in losses.each], "together": together}


def describe(loss: CompactionLoss) -> dict[str, Any]:
    """Return an entry of the `compactions` of cli.md's `lost`."""
    return {
        **picked(loss, "index thread before_request kind trigger tokens_before tokens_after"),
        **({} if loss.is_readable else {"summary_readable": False}),
        **({} if loss.is_shown else {"loss_shown": False}),
        "facts": picked(loss, "before kept paraphrased lost needed_again"),
        "verdicts": {verdict: loss.count(verdict) for verdict in get_args(LostVerdict)},
        "forgetting": {
            **picked(loss.forgetting, "calls repeated tokens usd:6 sentence"),
            "again": [
                picked(back, "how what request message line tokens usd:6")
                for back in loss.forgetting.again
            ],
        },
        "lost": [_describe_row(row) for row in loss.rows],
        "invented": [
            picked(invention, "kind=fact.kind text=fact.text sentence nearest changed=is_changed")
            for invention in loss.inventions
        ],
        "shown": [{"text": line.text, "rows": len(line.rows)} for line in loss.shown],
        **picked(loss.economics, "cost_usd saved_per_request_usd paid_after_requests"),
    }


def _describe_row(row: LostRow) -> dict[str, Any]:
    fields = "kind=fact.kind text=fact.text message rank=fact.rank fate verdict nearest why request line is_open"
    needed = [asdict(use) | {"how": HOW[use.how]} for use in row.needed]
    return {**picked(row, fields), "worth_telling": row.is_worth_telling, "needed_again": needed}


def lost_lines(
    losses: RecordedLosses, most: int | None = SHOWN, nothing: str = NO_COMPACTION
) -> Iterator[str]:
    """Yield the text output: for each compaction what getting facts back cost, then its lost facts, at most `most`.

    `nothing` is the output if there are no losses.
    """
    if not losses.each:
        yield nothing
    for index, loss in enumerate(losses.each):
        if index:
            yield ""
        yield from _compaction(loss, most)


def _compaction(loss: CompactionLoss, most: int | None) -> Iterator[str]:
    named = " ".join(word for word in (plain(loss.trigger), loss.kind) if word)
    sizes = f"{number(loss.tokens_before)} -> {number(loss.tokens_after)} tokens"
    yield f"{loss.index}: {named} before request {loss.before_request}, {sizes}"
    if not loss.is_shown:
        yield "   Every message is still there, but the provider counted less: what was removed is not in the file."
        return
    yield f"   {loss.forgetting.sentence}"
    if not loss.is_readable:
        yield "   Its summary is not readable in this file: what it lost is unknown."
    economics = loss.economics
    if economics.cost_usd is not None and economics.saved_per_request_usd is not None:
        cost = dollars(economics.cost_usd)
        saved = dollars(economics.saved_per_request_usd)
        paid = paid_words(economics.paid_after_requests).replace(
            "never paid", "never paid for itself"
        )
        yield f"   It cost {cost} and saved {saved} a request: {paid}."
    yield f"   {_counts(loss)}"
    yield from _inventions(loss)
    lines = loss.shown
    if not lines:
        yield from _nothing_listed(loss)
        return
    yield ""
    yield from _table(lines[:most])
    if most is not None and len(lines) > most:
        yield f"... and {len(lines) - most:,} more (--all lists them)"


def _nothing_listed(loss: CompactionLoss) -> Iterator[str]:
    """Yield what an empty list of losses means; nothing if the summary is not readable, which was said before."""
    if loss.is_readable:
        limit = ", as far as the file shows" if loss.count("unknown") else ""
        yield f"   Nothing important was lost{limit}."


def _inventions(loss: CompactionLoss) -> Iterator[str]:
    """Yield the names in a readable summary that nothing before it supports."""
    if not loss.inventions:
        if loss.kind == "summary" and loss.is_readable and loss.is_whole:
            yield "   Its summary invents no path, address, name or number: each is in the messages before it."
        return
    listed = ", ".join(plain(invention.fact.text, 60) for invention in loss.inventions[:3])
    more = ""
    if len(loss.inventions) > 3:
        more = f" and {len(loss.inventions) - 3:,} more (--json lists them)"
    yield (
        f"   Its summary names {plural(len(loss.inventions), 'thing')} that no earlier message names: "
        f"{listed}{more}."
    )


def _counts(loss: CompactionLoss) -> str:
    """Return the counts in words.

    `1,312 facts: 89 kept, 12 in other words, 20 done before, 1,191 gone, 0 not sure.`
    """
    counts = {verdict: loss.count(verdict) for verdict in get_args(LostVerdict)}
    words = [
        f"{loss.kept:,} kept",
        f"{counts['carried']:,} in other words",
        f"{counts['done']:,} already done",
    ]
    words += [f"{counts['gone']:,} gone", f"{counts['unsure']:,} not sure"]
    words += [f"{counts['unknown']:,} not known"] if counts["unknown"] else []
    return f"{loss.before:,} facts: {', '.join(words)}."


def _table(lines: Sequence[ShownLine]) -> Iterator[str]:
    """Yield a line for each fact, with the whole text last; an unsure fact has the nearest sentence below it."""
    heads = ("verdict", "kind", ">request", ">line", "needed again", "what")
    rows = [_cells(line) for line in lines]
    head, *listed = table(heads, rows)
    yield head
    for text, line in zip(listed, lines, strict=True):
        yield text
        if line.first.verdict == "unsure" and line.first.nearest:
            yield f"          nearest in the summary: {plain(line.first.nearest, 100)}"
        if line.first.verdict == "unknown":
            yield f"          {line.first.why}"


def _cells(line: ShownLine) -> tuple[str, ...]:
    row = line.first
    place = number(row.request), number(row.line or None)
    return VERDICT_WORDS[row.verdict], row.fact.kind, *place, _uses(line), plain(line.text)


def _uses(line: ShownLine) -> str:
    requests = sorted({use.request for row in line.rows for use in row.needed})
    named = ", ".join(map(str, requests[:3]))
    return f"{named}, ..." if len(requests) > 3 else named
