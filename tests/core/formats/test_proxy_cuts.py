"""What the proxy made of a request, as its recording tells it: what the client sent against what was forwarded."""

from dataclasses import replace
from typing import Any

from inspector.core.dialects.anthropic import ANTHROPIC
from inspector.core.drops import drop_sizes, session_drops, thread_drops
from inspector.core.findings.lost import lost_by_compactions
from inspector.core.findings.recorded_step import recorded_step
from inspector.core.replay.driver import Ground
from inspector.core.replay.recorded_report import recorded
from inspector.core.session import Session, Thread
from inspector.core.tokens.change_sizes import compaction_sizes
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.tokens.prices import call_cost, rates
from tests.core.formats.recordings import (
    CLAUDE,
    Recording,
    assistant,
    body,
    call,
    result,
    said,
    text,
    turns,
    user,
)
from tests.core.sessions import MODEL

SHORT = user("What was before, in short.")


def _cut(
    recording: Recording, asked: list[Any], sent: list[Any], how: str = "changed", tokens: int = 150
) -> Any:
    """A held request that was forwarded as something else; its answer."""
    number = recording.ask(body(asked))
    recording.records.append({"type": "held", "exchange": number, "why": "watermark"})
    recording.records.append({"type": "released", "exchange": number, "how": how})
    recording.send(number, body(sent))
    recording.reply(number, answer := said(text("on"), call("read", 90 + number), tokens=tokens))
    return answer


def _told(session: Session) -> list[tuple[int, str, str, int]]:
    return [
        (one.before_request, one.trigger, one.kind, one.kept) for one in session.main.compactions
    ]


def test_a_cut_is_the_clients_buffer_against_the_one_that_was_forwarded() -> None:
    """Not the request before: from there to what is left the buffer may even grow."""
    recording = Recording()
    messages = turns(recording, 3)  # reported: 100, 110, 120
    _cut(recording, messages, [SHORT, *messages[-2:]], tokens=125)
    session = recording.session()
    assert _told(session) == [(3, "proxy", "edit", 2)]
    pressures = thread_pressures(session.main)
    before, after = compaction_sizes(session.main, pressures, session.main.compactions[0]).tokens
    assert after == 125
    assert before is not None
    assert 120 < before < 150  # more than the request before, by the messages that came
    (drop,) = session_drops(session)
    assert (drop.request, drop.compaction) == (3, 0)
    assert drop_sizes(session.main, pressures, drop).tokens == (before, 125)
    gone = [message.id for message in session.main.requests[3].asked or ()][:5]
    assert [*drop.lost] == gone


def test_the_first_request_may_be_cut() -> None:
    recording = Recording()
    messages = [user("Old."), assistant(said(text("I see."))), user("New.")]
    _cut(recording, messages, messages[-1:])
    session = recording.session()
    assert _told(session) == [(0, "proxy", "edit", 1)]
    (drop,) = session_drops(session)
    assert (drop.request, drop.kind, drop.compaction, len(drop.lost)) == (0, "edit", 0, 2)
    sizes = drop_sizes(session.main, thread_pressures(session.main), drop)
    assert (sizes.freed or 0) > 0


def test_a_cut_that_is_only_made_again_is_no_other_one() -> None:
    recording = Recording()
    messages = turns(recording, 3)
    cut = [SHORT, *messages[-2:]]
    for n in range(3):
        answer = _cut(recording, messages, cut, "cut again" if n else "changed")
        messages = [*messages, assistant(answer), result(93 + n)]
        cut = [*cut, assistant(answer), result(93 + n)]
    # Behind the cut, which is made again as before.
    rewound = [*messages[:-4], user("No: the other way.")]
    _cut(recording, rewound, [*cut[:-4], user("No: the other way.")], "cut again")
    session = recording.session()
    assert _told(session) == [(3, "proxy", "edit", 2)]
    assert [(drop.request, drop.kind) for drop in session_drops(session)] == [
        (3, "edit"),
        (6, "rewind"),
    ]


def test_a_second_cut_is_told_in_full() -> None:
    recording = Recording()
    messages = turns(recording, 3)
    answer = _cut(recording, messages, [SHORT, *messages[-2:]], tokens=90)
    messages = [*messages, assistant(answer), result(93)]
    _cut(recording, messages, [user("In short, again."), *messages[-2:]], tokens=90)
    session = recording.session()
    assert _told(session) == [(3, "proxy", "edit", 2), (4, "proxy", "edit", 2)]
    pressures = thread_pressures(session.main)
    sizes = [compaction_sizes(session.main, pressures, one) for one in session.main.compactions]
    assert all((one.freed or 0) > 0 for one in sizes)


def test_what_the_client_compacts_itself_is_not_the_proxys() -> None:
    """Though it is forwarded otherwise, too: an older cut is made again."""
    recording = Recording()
    messages = turns(recording, 3)
    answer = _cut(recording, messages, [SHORT, *messages[-2:]])
    own = [
        user("This session is being continued from a previous conversation. We read."),
        assistant(answer),
        result(93),
    ]
    _cut(recording, [*own, user("And now?")], [own[0], user("And now?")], "cut again")
    assert _told(recording.session())[1:] == [(4, "", "summary", 0)]


RULE = "Never touch the file config/production.yaml, please."


def _compacted(pause: bool) -> tuple[Recording, list[Any]]:
    """Three turns, then a call in which the provider compacts; with `pause` it stops there, and the next answers."""
    recording = Recording()
    messages = turns(recording, 3, word=RULE)
    block = {
        "type": "compaction",
        "content": "The user started a task; the file src/loader.py was read.",
    }
    counts = [
        {"type": "compaction", "input_tokens": 700, "output_tokens": 40},
        {"type": "message", "input_tokens": 60, "output_tokens": 5},
    ]
    usage = {"input_tokens": 60, "output_tokens": 5, "iterations": counts[:1] if pause else counts}
    more: dict[str, Any] = {"stop_reason": "compaction"} if pause else {}
    number = recording.ask(body(messages))
    blocks = [block] if pause else [block, text("Done so far.")]
    recording.reply(number, answer := said(*blocks, usage=usage, **more))
    return recording, [*messages, assistant(answer), user("Go on.")]


def _priced(thread: Thread) -> Thread:
    return replace(thread, requests=[replace(one, model=MODEL) for one in thread.requests])


def test_a_compaction_that_the_provider_makes_inside_a_call_is_a_step() -> None:
    recording, messages = _compacted(pause=False)
    recording.reply(recording.ask(body(messages)), said(text("I went on."), tokens=80))
    session = recording.session()
    thread = session.main
    assert _told(session) == [(3, "server-side", "summary", 0)]
    pressures = thread_pressures(thread)
    assert compaction_sizes(thread, pressures, thread.compactions[0]).tokens == (700, 60)
    assert [len(request.view) for request in thread.requests] == [1, 3, 5, 1, 3]
    summary, said_after, asked = thread.requests[4].view
    assert summary is thread.requests[3].view.messages()[0]
    assert (summary.summary, said_after.text, asked.text) == (True, "Done so far.", "Go on.")
    assert len(thread.requests[4].asked or ()) == 10
    assert [(drop.request, drop.kind) for drop in session_drops(session)] == [(3, "compaction")]
    (loss,) = lost_by_compactions(session, thread)
    gone = {row.fact.text for row in loss.rows if row.fate == "lost"}
    assert RULE.rstrip(".") in {one.rstrip(".") for one in gone}
    step = recorded_step(thread, thread_drops(thread, session), 3)
    assert step is not None
    assert [fate.name for fate in step.fates()] == ["summarised"] * 7 + ["inserted"]
    wire = ANTHROPIC.write(thread.requests[4].view.messages(), {})
    assert [block["type"] for block in wire[0]["content"]] == ["compaction", "text"]


def test_one_after_which_it_paused_counts_from_the_next_call_on() -> None:
    recording, messages = _compacted(pause=True)
    recording.reply(recording.ask(body(messages)), said(text("I went on."), tokens=80))
    session = recording.session()
    assert _told(session) == [(4, "server-side", "summary", 0)]
    assert [len(request.view) for request in session.main.requests] == [1, 3, 5, 7, 2]
    happened = recorded(Ground(_priced(session.main)))
    assert not happened.spent.summariser_calls
    (step,), call = happened.compactions, session.main.requests[3]
    assert call.usage is not None
    assert (call.usage.prompt, call.usage.output) == (700, 40)
    price = rates(MODEL, 700)
    assert price is not None
    # Sent less at once: no cache.
    assert step.economics.cost_usd == (call_cost(MODEL, call.usage) or 0) - 620 * price.input


def test_tool_uses_that_the_provider_cleared_are_cleared_in_the_buffer() -> None:
    """It says how many: the oldest, but for those of tools that the client excluded; again in every later call."""
    recording, messages = Recording(), list[Any]()
    asked = {"edits": [{"type": "clear_tool_uses_20250919", "exclude_tools": ["keep"]}]}
    for n, (name, uses) in enumerate(
        [("keep", 0), ("read", 0), ("read", 0), ("read", 1), ("read", 2)]
    ):
        messages.append(
            user("Look.")
            if not n
            else result(n - 1, f"The key of step {n - 1} is load_ledger_{n - 1}")
        )
        told = {
            "type": "clear_tool_uses_20250919",
            "cleared_tool_uses": uses,
            "cleared_input_tokens": 9 * uses,
        }
        answer = said(
            call(name, n),
            tokens=100 + 10 * n - 9 * uses,
            context_management={"applied_edits": [told]},
        )
        recording.reply(recording.ask(body(messages, context_management=asked)), answer)
        messages.append(assistant(answer))
    session = recording.session()
    thread = session.main
    cleared = [
        [n for n, one in enumerate(request.view) if one.mark == "placeholder"]
        for request in thread.requests
    ]
    assert cleared == [[], [], [], [4], [4, 6]]
    found = session_drops(session)
    assert [(drop.request, drop.kind, drop.loss) for drop in found] == [
        (3, "server-side clearing", True),
        (4, "server-side clearing", True),
    ]
    for at in (3, 4):
        step = recorded_step(thread, thread_drops(thread, session), at)
        assert step is not None
        assert [fate.name for fate in step.fates()].count("cleared") == 1
    first, second = lost_by_compactions(session, thread)
    assert [row.fact.text for row in first.rows] == ["load_ledger_1"]
    assert [row.fact.text for row in second.rows] == ["load_ledger_2"]


def test_one_inside_the_first_call_has_a_buffer_before_it() -> None:
    recording = Recording()
    block = {"type": "compaction", "content": "The user greets."}
    summary = {"type": "compaction", "input_tokens": 700, "output_tokens": 40}
    counts = [summary, {"type": "message", "input_tokens": 20, "output_tokens": 5}]
    usage = {"input_tokens": 20, "output_tokens": 5, "iterations": counts}
    recording.reply(recording.ask(body([user(RULE)])), said(block, text("Hello."), usage=usage))
    session, thread = recording.session(), recording.session().main
    (loss,) = lost_by_compactions(session, thread)
    assert (loss.before_request, loss.tokens_before, loss.tokens_after, loss.lost) == (
        0,
        700,
        20,
        loss.before,
    )
    assert loss.before
    (step,) = recorded(Ground(_priced(thread))).compactions
    price = rates(MODEL, 720)
    assert price is not None
    assert step.economics.cost_usd == 20 * price.input + 40 * price.output
    assert step.economics.paid_after_requests is None


def test_one_note_a_session() -> None:
    recording = Recording()
    for headers, word in ((CLAUDE, "one"), ({"session_id": "p-1", "user-agent": "pi/1"}, "two")):
        messages = turns(recording, 2, headers, word)
        for _ in range(4):
            number = recording.ask(body(messages), headers=headers)
            recording.send(number, body([SHORT, *messages[-2:]]))
            answer = said(text(f"on {number}"))
            recording.reply(number, answer)
            messages = [*messages, assistant(answer), user("more")]
    notes = [note for note in recording.session().notes if "forwarded" in note]
    assert [note.partition(":")[0] for note in notes] == ["claude-code s-1", "pi p-1"]
    assert all(
        "4 requests were not forwarded" in note and "5 messages became 3" in note for note in notes
    )
