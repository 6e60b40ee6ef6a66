"""`context-inspector lost FILE`: what the compactions that happened lost, and what of it was needed again."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from inspector.cli.output import listing, number, picked, plain, write_answer
from inspector.cli.select import add_selection, select
from inspector.core.errors import InspectorError
from inspector.core.findings.lost import CompactionLoss, RecordedLosses, recorded_losses
from inspector.core.replay.economics import paid_words
from inspector.core.words import dollars

SHOWN = 20
"""Rows of one compaction in the answer for people; the JSON has all."""
HOW = {"call": "tool_call", "answer": "answer", "user": "user"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    add_selection(parser)
    parser.add_argument("--compaction", metavar="N", type=int, help="only this one: 0-based, negative from the end")


def run(arguments: argparse.Namespace) -> None:
    """Print it. Raises InspectorError."""
    chosen = select(arguments)
    losses = recorded_losses(chosen.session, chosen.thread)
    if (wanted := arguments.compaction) is not None:
        count = len(losses.each)
        if not -count <= wanted < count:
            raise InspectorError(f"there is no compaction {wanted}: the thread has {count}, counted from 0.")
        losses = replace(losses, each=(losses.each[wanted],))
    write_answer(losses_document(losses), arguments.json, lost_lines)


def losses_document(losses: RecordedLosses) -> dict[str, Any]:
    """Describe the losses as cli.md's `lost` does."""
    together = picked(losses.together, "facts kept paraphrased lost needed_again=needed_later lost_words needed_words")
    return {"compactions": [describe(one) for one in losses.each], "together": together}


def describe(one: CompactionLoss) -> dict[str, Any]:
    """One of the `compactions` of cli.md's `lost`."""
    row = "kind=fact.kind text=fact.text message rank=fact.rank fate"
    return {
        **picked(one, "index thread before_request kind trigger tokens_before tokens_after"),
        **({} if one.is_readable else {"summary_readable": False}),
        **({} if one.is_shown else {"loss_shown": False}),
        "facts": picked(one, "before kept paraphrased lost needed_again"),
        "lost": [
            {**picked(lost, row), "needed_again": [asdict(use) | {"how": HOW[use.how]} for use in lost.needed]}
            for lost in one.rows
        ],
        **picked(one.economics, "cost_usd saved_per_request_usd paid_after_requests"),
    }


def lost_lines(document: dict[str, Any]) -> Iterator[str]:
    """The whole document, of each compaction the first facts."""
    if not document["compactions"]:
        yield "Nothing was compacted here, and nothing went silently."
    for n, one in enumerate(document["compactions"]):
        yield from ([""] if n else [])
        yield from _compaction(one)
    if len(document["compactions"]) > 1:
        together = document["together"]
        yield ""
        yield f"All together: {together['lost_words']} of {together['facts']:,} different facts lost, "
        yield f"{together['needed_words']} of them needed again. A fact that was lost twice counts once."


def _compaction(one: dict[str, Any]) -> Iterator[str]:
    facts, rows = one["facts"], one["lost"]
    named = " ".join(word for word in (plain(one["trigger"]), one["kind"]) if word)
    sizes = f"{number(one['tokens_before'])} -> {number(one['tokens_after'])} tokens"
    bound = "" if one.get("summary_readable", True) else "at most "
    needed = f"{facts['needed_again']:,} needed again"
    needed = "needed again: unknown" if bound and not facts["needed_again"] else needed
    yield f"{one['index']}: {named} before request {one['before_request']}, {sizes}"
    if not one.get("loss_shown", True):
        yield f"   all messages stand ({facts['before']:,} facts), and yet the provider counted less:"
        yield "   what went is not in the file"
        return
    yield (
        f"   {facts['before']:,} facts: {facts['kept']:,} kept, {facts['paraphrased']:,} in other words,"
        f" {bound}{facts['lost']:,} lost; {needed}"
    )
    if bound:
        yield "   its summary cannot be read here: what counts as lost may stand in it"
    if one["cost_usd"] is not None:
        cost, saved = dollars(one["cost_usd"]), dollars(one["saved_per_request_usd"])
        paid = paid_words(one["paid_after_requests"]).replace("never paid", "never paid for itself")
        yield f"   cost {cost}, saved {saved} a request: {paid}"
    if shown := _first(rows):
        fate = ("", lambda row: "in other words" if row["fate"] == "paraphrased" else "")
        yield ""
        yield from listing(shown, "kind", "text/70=fact", fate, "message/12=stood in", ("needed again", _uses))
    if len(rows) > len(shown):
        yield f"... and {len(rows) - len(shown):,} more (all of them with --json)"


def _first(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the user said and what was decided, half of the room at most; what was needed again, then what ranks
    highest; in the order of the list."""
    said = [n for n, row in enumerate(rows) if row["kind"] in ("instruction", "constraint", "decision")][: SHOWN // 2]
    rest = sorted(set(range(len(rows))) - set(said), key=lambda n: (not rows[n]["needed_again"], n))
    return [rows[n] for n in sorted([*said, *rest[: SHOWN - len(said)]])]


def _uses(row: Mapping[str, Any]) -> str:
    uses = []
    for use in row["needed_again"][:3]:
        tokens = f", {use['tokens']:,} tokens" if use["tokens"] else ""
        uses.append(f"{use['request']} ({use['how'].replace('_', ' ')}{tokens})")
    return ", ".join(uses)
