"""Why it filled, what it lost, what it cost, on every real transcript: what each answer says adds up, in itself and
with the others, on the command line as in the window."""

import json
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import breakdown as cli_breakdown
from inspector.cli import buffer as cli_buffer
from inspector.cli import cost as cli_cost
from inspector.cli import info as cli_info
from inspector.cli import lost as cli_lost
from inspector.cli import pins as cli_pins
from inspector.cli.select import Selection
from inspector.core.errors import InspectorError
from inspector.core.facts.wording import join_lines
from inspector.core.findings.breakdown import BreakdownNode
from inspector.core.findings.lost import lost_by_compactions, recorded_losses
from inspector.core.replay.driver import Ground
from inspector.core.replay.pins import PinHistory, PinIndex, collect_pins, recorded_pins
from inspector.core.replay.recorded_report import recorded
from inspector.core.session import Session, Thread
from inspector.core.tokens.prices import BILL_KINDS, call_cost, side_model
from inspector.gui.panels.lists.lost import losses
from inspector.transcripts.files import open_transcript
from inspector.workbench.diff import sides
from inspector.workbench.pressure.filling import calls_of, filling
from inspector.workbench.pressure.gauge import reading
from inspector.workbench.workbench import Workbench
from tests.cli import schema
from tests.shared import TRANSCRIPTS, transcripts

FILES = [path for path in transcripts("**/*") if path.is_file()]
CAUSES = {
    "expired",
    "prefix-changed",
    "model-changed",
    "tools-changed",
    "compaction",
    "restart",
    "other-cache",
    "unknown",
}
END_SIGNS = ".!?。！？ "
"""A wish is the same whatever its end signs."""
FATES = {"verbatim": "kept", "paraphrased": "paraphrased", "gone": "lost"}


@pytest.mark.skipif(not FILES, reason="no real transcripts on this machine")
@pytest.mark.parametrize(
    "path", FILES, ids=[str(path.relative_to(TRANSCRIPTS)) for path in FILES if TRANSCRIPTS]
)
def test_the_answers_add_up_and_agree(path: Path) -> None:
    try:
        session = open_transcript(path)
    except InspectorError:
        pytest.skip("not a transcript that is read")
    info = cli_info.describe(Selection(session, session.main, len(session.main.requests)))
    check_info(info)
    check_cost(session, info["totals"])
    check_buffers(session)
    histories = recorded_pins(session.main, PinIndex(collect_pins(session.main)))
    check_pins(histories, len(session.main.requests))
    check_lost(session, histories)


def printed(document: Any) -> Any:
    """As `--json` prints it."""
    return json.loads(json.dumps(document))


def check_info(info: dict[str, Any]) -> None:
    schema.check(printed(info), schema.INFO)
    totals, threads = info["totals"], info["totals_by_thread"].values()
    assert len(info["summary"]) == (3 if info["requests"] else len(info["summary"]))
    nobodys = [
        call for call in info["side_calls"] if call["thread"] not in info["totals_by_thread"]
    ]
    for name in ("input", "cache_read", "cache_write", "cache_write_1h", "output"):
        assert totals[name] == sum(one[name] or 0 for one in (*threads, *nobodys))
    assert list(cli_info.info_lines(info))


def check_cost(session: Session, totals: dict[str, Any]) -> None:
    found = cli_cost.describe(session)
    assert found["total"] == totals["cost_usd"]
    if found["total"] is not None:
        assert sum(Decimal(str(found[kind])) for kind in BILL_KINDS) == Decimal(str(found["total"]))
        assert (found["breaks_usd"] or 0) <= found["total"]
        by_thread = [cli_cost.describe(session, thread) for thread in session.threads]
        assert sum(one["total"] or 0 for one in by_thread) <= found["total"] + 1e-5
        for one, thread in zip(by_thread, session.threads, strict=True):
            check_recorded(one, session, thread)
    for one in found["breaks"]:
        assert one["cause"] in CAUSES
        assert one["evidence"].endswith((".", ")"))
        assert 0 <= one["tokens"] <= one["missed"]
        assert 0 <= (one["avoidable_usd"] or 0) <= (one["usd"] or 0)
    for step in found["compactions"]:
        assert step["paid"] == (
            None if step["cost_usd"] is None else step["paid_after_requests"] is not None
        )
    assert list(cli_cost.cost_lines(printed(found)))


def check_recorded(bill: dict[str, Any], session: Session, thread: Thread) -> None:
    """What a replay says that happened cost is the bill of conversation and summaries, and what is estimated."""
    found = recorded(Ground(thread, pins=None, calls=session.side_calls), losses=False).spent
    others = [call for call in session.side_calls if call.thread == thread.id and call.usage]
    others = [
        call
        for call in others
        if call.kind != "compaction" or call.made is None or not call.before_request
    ]
    if found.cost_usd is not None and bill["total"] is not None:
        beside = sum(
            call_cost(side_model(call, thread), call.usage, call.time) or 0
            for call in others
            if call.usage
        )
        plain_cost = float(found.cost_usd - (found.estimated_usd or 0) + beside)
        assert plain_cost == pytest.approx(bill["total"], abs=2e-6)
        assert float(found.estimated_usd or 0) == pytest.approx(bill["estimated_usd"], abs=2e-6)


def check_buffers(session: Session) -> None:
    """First, middle, last and next: the breakdown's tree is the gauge's number, and the window's tree the command's."""
    bench = Workbench()
    bench.open(session)
    for thread in session.threads[:3]:
        bench.choose_thread(thread.id)
        count = len(thread.requests)
        for at in sorted({0, count // 2, max(0, count - 1), count}):
            bench.move(None if at == count else at)
            chosen = Selection(session, thread, at)
            found, buffer, now = (
                cli_breakdown.describe(chosen),
                cli_buffer.describe(chosen),
                reading(bench.state),
            )
            schema.check(printed(found), schema.BREAKDOWN)
            schema.check_buffer(printed(buffer))
            assert now is not None
            shown = filling(bench.state, calls_of(bench.state))
            check_tree(shown.tree, len(chosen.buffer.messages))
            sizes = {one["name"]: one["tokens"] for one in found["tree"].get("children", ())}
            assert sizes == {one.name: one.tokens for one in shown.tree.children}
            unseen = sizes.pop("unseen", 0)
            assert sizes == buffer["pressure"]["categories"] == dict(now.parts)
            total = now.pressure.tokens or 0
            assert (
                found["tree"]["tokens"]
                == shown.tree.tokens
                == sum(sizes.values()) + unseen
                == total
            )
            assert found["repeats_free"] == sum(one.free for one in shown.repeats) <= total
            assert list(cli_breakdown.breakdown_lines(found))


def check_tree(tree: BreakdownNode, messages: int) -> None:
    for _, node in tree.walk():
        assert node.tokens >= 0 or node.name == "difference", (
            "the provider may count less than is recorded"
        )
        assert all(0 <= at < messages for at in node.messages)
        if node.children:
            assert sum(child.tokens for child in node.children) == node.tokens
            assert {at for child in node.children for at in child.messages} <= set(node.messages)


def check_pins(histories: tuple[PinHistory, ...], requests: int) -> None:
    listed = list(cli_pins.describe(histories, {}))
    schema.check(printed({"pins": listed}), schema.PINS)
    for pin in listed:
        ends = [(span["from"], span["to"]) for span in pin["recorded"]]
        assert all(before[1] + 1 == after[0] for before, after in pairwise(ends))
        assert not ends or (ends[0][0], ends[-1][1]) == (pin["request"], requests - 1)
    assert list(cli_pins.pins_lines(histories, {}, requests))


def check_lost(session: Session, histories: tuple[PinHistory, ...]) -> None:
    thread = session.main
    found = lost_by_compactions(session, thread)
    bench = Workbench()
    bench.open(session)
    for one in found[:3]:  # the window's list is the command's
        bench.move(one.before_request if one.before_request < len(thread.requests) else None)
        shown = sides(bench.state)
        assert shown is not None
        assert [row.lost for row in losses(shown, found)] == list(one.rows)
    known = {message.id for message in thread.messages}
    for one in found:
        assert one.before == one.kept + one.paraphrased + one.lost
        for row in one.rows:
            assert row.message in known
            assert all(
                use.request >= one.before_request and use.message in known for use in row.needed
            )
        wishes = [row for row in one.rows if row.fact.kind in ("instruction", "constraint")]
        carried = {row: "paraphrased" if row.fate == "paraphrased" else "lost" for row in wishes}
        fates = {join_lines(row.fact.text).rstrip(END_SIGNS): fate for row, fate in carried.items()}
        for history in histories:  # of one sentence both say the same
            before, after = map(history.at, (one.before_request - 1, one.before_request))
            if before is not None and after is not None and before.state == "verbatim":
                assert FATES[after.state] == fates.get(
                    history.pin.text.rstrip(END_SIGNS), "kept"
                ), history.pin.text[:20]
    # A replay counts what stands before its one step as `lost` does.
    if len(found) == 1 and thread.compactions:
        replayed = recorded(Ground(thread, pins=None)).losses
        (one,) = found
        counted = replayed.paraphrased, replayed.lost, replayed.needed_later
        assert counted == (one.paraphrased, one.lost, one.needed_again)
    losses_found = recorded_losses(session, thread)
    document = cli_lost.losses_document(losses_found)
    assert [one["facts"]["lost"] for one in document["compactions"]] == [one.lost for one in found]
    schema.check(printed(document), schema.LOST)
    assert list(cli_lost.lost_lines(losses_found))
