"""A recorded compaction, micro-compaction or silent drop as a step: both buffers, every message's fate, the sizes."""

from collections import Counter

import pytest

from inspector.core.buffer import Stretch
from inspector.core.drops import Drops, thread_drops
from inspector.core.errors import InspectorError
from inspector.core.findings.recorded_step import (
    RecordedStep,
    places,
    recorded_economics,
    recorded_sizes,
    recorded_step,
)
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.session import Compaction, Request, Thread
from inspector.core.tokens.change_sizes import change_sizes
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.usage import Usage
from inspector.transcripts.files import open_transcript
from tests.core.sessions import compacted
from tests.shared import transcripts

ROKU = estimator("roku")
LONG = "a result of many words " * 40


def user(id: str, text: str) -> Message:  # noqa: A002
    return Message(id, "user", (Text(text),))


def call(n: int) -> tuple[Message, Message]:
    made = ToolCall(f"c{n}", "read", {"path": f"src/{n}.py"})
    return Message(f"a{n}", "assistant", (made,)), Message(
        f"r{n}", "tool", (ToolResult(made.id, LONG),)
    )


def thread(views: list[Stretch], messages: list[Message], *compactions: Compaction) -> Thread:
    requests = [
        Request(n, one.view(), usage=Usage(9_000 - 1_000 * n)) for n, one in enumerate(views[:-1])
    ]
    return Thread("main", "", "m", requests, messages, views[-1].view(), compactions=compactions)


def steps(found: Thread) -> list[RecordedStep]:
    return all_steps(found, thread_drops(found))


def all_steps(found: Thread, drops: Drops) -> list[RecordedStep]:
    made = (recorded_step(found, drops, at) for at in places(found, drops))
    return [step for step in made if step is not None]


def counts(step: RecordedStep) -> dict[str, int]:
    return dict(Counter(fate.name for fate in step.fates()))


def check_adds_up(step: RecordedStep) -> None:
    """Kept, changed and gone are the messages before; kept, changed and inserted those after: each once, in order."""
    before = [fate.before for fate in step.fates() if fate.before is not None]
    after = [fate.after for fate in step.fates() if fate.after is not None]
    assert before == list(step.before.messages)
    assert sorted(one.id for one in after) == sorted(one.id for one in step.after.messages)
    for fate in step.fates():
        assert (fate.after is None) == (fate.name in ("summarised", "dropped"))
        assert (fate.before is None) == (fate.name == "inserted")


def test_a_summary_with_what_was_kept_swallowed_and_attached() -> None:
    found = compacted(before=4, after=3, kept=2, swallowed=2)
    (step,) = steps(found)
    assert (step.request, step.name, step.compactions) == (4, "auto compaction", (0,))
    last = found.requests[3].view.messages()
    assert step.before.messages[: len(last)] == last
    # The answer that no request ever showed, and what was asked next.
    assert len(step.before.messages) > len(last)
    assert counts(step)["kept"] == 3  # two that stay, and what the user said next
    assert counts(step)["inserted"] == 2  # the summary, and the file that the client attached anew
    assert counts(step)["summarised"] == len(step.before.messages) - 3
    check_adds_up(step)


def test_micro_compaction_rewind_and_a_first_request() -> None:
    task, anew = user("u", "do it"), user("u2", "something else")
    (a, full), cleared = (
        call(0),
        Message("r0", "tool", (ToolResult("c0", "[Old tool result content cleared]"),)),
    )
    first = Stretch(own=[task, a, full])
    second = Stretch(first.view(2), [cleared])
    third = Stretch(first.view(1), [anew])
    found = thread([first, second, third, third], [task, a, full, anew])
    micro, rewind = steps(found)
    assert (micro.name, counts(micro)) == ("micro-compaction", {"kept": 2, "cleared": 1})
    assert (rewind.name, counts(rewind)) == ("rewind", {"kept": 2, "dropped": 2})
    assert places(found, thread_drops(found)) == (1, 2)
    assert recorded_step(found, thread_drops(found), 0) is None
    for step in (micro, rewind):
        check_adds_up(step)


def test_after_the_last_request_and_before_the_first() -> None:
    task, (a, full) = user("u", "do it"), call(0)
    summary = Message("s", "user", (Text("what was done"),), summary=True)
    first, end = Stretch(own=[task, a, full]), Stretch(own=[summary])
    made = Compaction(1, "manual", summary=summary), Compaction(0, "auto", summary=summary)
    found = thread([first, end], [task, a, full, summary], *reversed(made))
    (step,) = steps(found)
    assert (step.request, step.name) == (1, "manual compaction")
    assert counts(step) == {"summarised": 3, "inserted": 1}
    assert steps(thread([end], [summary], made[1])) == []


def test_what_stays_under_a_new_id_was_kept_and_a_new_summary_is_not_the_old_one() -> None:
    begins = "This session goes on from an earlier one. "
    old, new = (Message(id, "user", (Text(begins + id),), summary=True) for id in ("s1", "s2"))  # noqa: A001
    (a, full), words = call(0), (Text("never touch main"),)
    asked, again = (Message(id, "user", words, mark="meta") for id in ("u", "u9"))  # noqa: A001
    first, second = Stretch(own=[old, asked, a, full]), Stretch(own=[new, again])
    made = Compaction(1, "auto", summary=new)
    (step,) = steps(thread([first, second, second], [old, asked, a, full, new, again], made))
    assert counts(step) == {"inserted": 1, "summarised": 3, "kept": 1}
    kept = next(fate for fate in step.fates() if fate.name == "kept")
    assert (kept.id, kept.before, kept.after) == ("u9", asked, again)
    check_adds_up(step)


def test_sizes_are_the_files_own_where_it_has_them_else_predicted() -> None:
    found = compacted(before=4, after=3)
    pressures = thread_pressures(found)
    (step,) = steps(found)
    sizes = recorded_sizes(step, found, pressures)
    assert sizes.before.pressure.kind == "predicted"
    assert sizes.tokens[1] == found.requests[4].usage.prompt if found.requests[4].usage else 0
    assert sizes.before.tokens(step.before) == sizes.tokens[0]
    made = Compaction(4, "auto", tokens_before=1_900, summary=found.compactions[0].summary)
    told = Thread("main", "", "m", found.requests, found.messages, found.end, compactions=(made,))
    (step,) = steps(told)
    sizes = recorded_sizes(step, told, thread_pressures(told))
    assert (sizes.tokens[0], sizes.before.pressure.kind) == (1_900, "reported")
    assert sizes.before.tokens(step.before) == 1_900


def test_whether_it_paid_by_the_request_after_it() -> None:
    found = recorded_economics(compacted(before=4, after=3), ())
    assert list(found) == [4]
    assert found[4].cost_usd is not None
    assert recorded_economics(thread([Stretch(), Stretch()], []), ()) == {}


def check_counts(drops: Drops, step: RecordedStep) -> None:
    """The list of compactions counts what the step shows."""
    listed = [
        drop for drop in drops.found if drop.request == step.request and drop.kind != "sub-agent"
    ]
    for drop in listed:
        shown = Counter(fate.name for fate in step.fates() if fate.name not in ("kept", "inserted"))
        assert Counter(drop.fates.values()) == shown, (step.request, drop.kind)


FILES = [path for path in transcripts("**/*") if path.is_file()]


@pytest.mark.skipif(not FILES, reason="no shared transcripts here")
def test_on_every_real_transcript_kept_changed_and_gone_are_the_messages_before() -> None:
    found = 0
    for path in FILES:
        try:
            session = open_transcript(path)
        except InspectorError:
            continue
        for one in session.threads:
            drops, pressures = thread_drops(one, session), thread_pressures(one)
            listed = all_steps(one, drops)
            assert [step.request for step in listed] == list(places(one, drops))
            for step in listed:
                check_adds_up(step)
                sizes = recorded_sizes(step, one, pressures)
                assert sizes.tokens == tuple(
                    size or 0 for size in change_sizes(one, pressures, step.request).tokens
                )
                check_counts(drops, step)
                assert sizes.before.tokens(step.before) == sizes.tokens[0]
                assert sizes.tokens[1] == (pressures.at(step.request).tokens or 0)
                found += 1
            every = {min(made.before_request, len(one.requests)) for made in one.compactions} - {0}
            assert every <= {step.request for step in listed} or not one.requests
    assert found
