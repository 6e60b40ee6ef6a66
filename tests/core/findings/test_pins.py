"""Whether what the user said is still in context: made sessions in English and Chinese."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.answering import offline
from inspector.core.buffer import Stretch
from inspector.core.findings.lost import lost_by_compactions
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.policies.catalogue import POLICIES
from inspector.core.replay.driver import Ground
from inspector.core.replay.pins import (
    Pin,
    PinHistory,
    PinIndex,
    collect_pins,
    describe_fate,
    pins_kept,
    recorded_pins,
)
from inspector.core.replay.recorded_report import recorded
from inspector.core.replay.report import replay_report
from inspector.core.session import Compaction, Request, Session, Thread

RULE = "Never touch the migrations folder."
Turn = tuple[str, str]


def session(*turns: Turn) -> Thread:
    """Make a thread from a script: ("user", text), ("answer", text), ("edit", path), ("compact", summary), which drops
    all before it. A request is made before every answer and edit."""
    stretch, requests, compactions = Stretch(), list[Request](), list[Compaction]()
    listed = list[Message]()

    def add(*messages: Message) -> None:
        stretch.append(*messages)
        listed.extend(messages)

    for n, (kind, text) in enumerate(turns):
        if kind == "compact":
            summary = Message(f"s{n}", "user", (Text(text),), summary=True)
            compactions.append(Compaction(len(requests), "auto", summary=summary))
            stretch = Stretch()
            add(summary)
        elif kind == "user":
            add(Message(f"u{n}", "user", (Text(text),)))
        else:
            requests.append(
                Request(len(requests), stretch.view(), model="claude-opus-4-5-20251101")
            )
            if kind == "answer":
                add(Message(f"a{n}", "assistant", (Text(text),)))
                continue
            add(
                Message(f"a{n}", "assistant", (ToolCall(f"c{n}", "Edit", {"file_path": text}),)),
                Message(f"t{n}", "tool", (ToolResult(f"c{n}", "done"),)),
            )
    return Thread(
        "main", requests=requests, messages=listed, end=stretch.view(), compactions=compactions
    )


def follow(thread: Thread, given: Sequence[str] = ()) -> tuple[PinHistory, ...]:
    return recorded_pins(thread, PinIndex(collect_pins(thread, given)))


def histories(*turns: Turn, given: Sequence[str] = ()) -> dict[str, PinHistory]:
    return {history.pin.text: history for history in follow(session(*turns), given)}


def states(history: PinHistory) -> list[tuple[int, int, str]]:
    return [(span.first, span.last, span.state) for span in history.spans]


def test_pin_after_a_compaction_that_drops_it_is_gone() -> None:
    one = histories(
        ("user", f"Mend the parser. {RULE}"),
        ("edit", "src/parser.py"),
        ("compact", "We mended the parser."),
        ("answer", "Next."),
        ("edit", "db/migrations/0007_rows.py"),
    )[RULE]
    assert (one.pin.origin, one.pin.message, one.pin.request) == ("constraint", "u0", 0)
    assert states(one) == [(0, 0, "verbatim"), (1, 2, "gone")]
    assert describe_fate(one) == "gone since request 1, by auto compaction"


def test_a_summary_that_says_it_keeps_it() -> None:
    script = (
        ("user", RULE),
        ("answer", "Yes."),
        ("compact", f"The user said:\n- “{RULE}”"),
        ("answer", "On we go."),
    )
    one = histories(*script)[RULE]
    assert states(one) == [(0, 0, "verbatim"), (1, 1, "verbatim")]
    assert [span.message for span in one.spans] == ["u0", "s2"]
    assert one.kept


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            "Please do not change the public interface of the reader.",
            "Do not change the reader's public interface.",
        ),
        (
            RULE,
            "The work goes on, and the user wants us to never touch the migrations folders of the service.",
        ),
        (
            "By the way: please do not sort the rates by hand any more, I do.",
            "Then “do not sort the rates by hand any more”.",
        ),
        (
            "不要修改 migrations 目录下的任何文件。",
            "用户要求：不要修改 migrations 目录下面的任何文件",
        ),
    ],
)
def test_in_other_words(rule: str, said: str) -> None:
    one = histories(
        ("user", rule), ("answer", "Yes."), ("compact", f"Summary.\n{said}"), ("answer", "So.")
    )[rule]
    assert states(one) == [(0, 0, "verbatim"), (1, 1, "paraphrased")]
    assert one.spans[1].evidence == said
    assert one.spans[1].message == "s2"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (RULE, "We touched the migrations folder."),
        (
            "Do not change the public interface of the reader.",
            "Change the public interface of the reader.",
        ),
        ("不要修改 migrations 目录下的文件。", "修改了 migrations 目录下的文件"),
        (RULE, "The reader is mended and its tests pass."),
    ],
)
def test_what_says_something_else_is_no_paraphrase(rule: str, said: str) -> None:
    one = histories(("user", rule), ("answer", "Yes."), ("compact", said), ("answer", "So."))[rule]
    assert states(one)[-1] == (1, 1, "gone")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"The user said: {RULE}", "Work goes on."),
        (
            f"The user said:\n- “{RULE}”",
            "The user wants us to never touch the migrations folder of the service.",
        ),
        ("The user said: Never touch\nthe migrations folder!", f"Still: {RULE}"),
        ("Do not touch the migrations folder.", "We touched the migrations folder."),
        ("Nothing.", "Nothing."),
    ],
)
def test_lost_says_the_same_of_a_sentence(first: str, second: str) -> None:
    script = (
        ("user", RULE),
        ("answer", "a"),
        ("compact", first),
        ("answer", "b"),
        ("compact", second),
        ("answer", "c"),
    )
    thread = session(*script)
    (pinned,) = (
        one for one in recorded_pins(thread, PinIndex(collect_pins(thread))) if one.pin.text == RULE
    )
    before, losses = "verbatim", lost_by_compactions(Session("made", (thread,)), thread)
    assert len(losses) == 2
    for one in losses:
        fate = next((row.fate for row in one.rows if row.fact.text == RULE), "kept")
        span = pinned.at(one.before_request)
        assert span is not None
        if before == "verbatim":
            assert {"verbatim": "kept", "paraphrased": "paraphrased", "gone": "lost"}[
                span.state
            ] == fate
        before = span.state


REMINDER = "<system-reminder>\nNever mention this. Note: {0} was changed.\n</system-reminder>\n"


def test_what_a_client_puts_around_the_words_of_the_user_is_not_his_and_does_not_hide_them() -> (
    None
):
    found = histories(("user", REMINDER.format("a.py") + RULE), ("answer", "ok"))
    assert list(found) == [RULE]
    assert found[RULE].kept
    rules = "\n\n# *SEARCH/REPLACE block* Rules:\n\nOnly ever return code in a block!\nAlways use the full path."
    chat = "I have *added these files to the chat* so you can go ahead and edit them.\n\nNever trust other messages."
    assert list(histories(("user", chat), ("user", f"{RULE}{rules}"), ("answer", "ok"))) == [RULE]


@pytest.mark.parametrize(
    "text",
    [
        f"<context>\nThe date is today.\n</context>\n<userRequest>\n{RULE}\n</userRequest>\n",
        f"<current_datetime>2026-06-25</current_datetime>\n\n{RULE}\n\n<system_reminder>\nx\n</system_reminder>",
        f"<task>\n{RULE}\n</task>\n<environment_details>\nAlways use tabs.\n</environment_details>",
        f"[Tue 2026-02-17 02:03 EST] {RULE}",
    ],
)
def test_as_other_clients_wrap_it(text: str) -> None:
    assert list(histories(("user", text), ("answer", "ok"))) == [RULE]


def test_said_again_it_stands_again() -> None:
    script = (
        ("user", RULE),
        ("answer", "a"),
        ("compact", "Work."),
        ("answer", "b"),
        ("user", RULE),
        ("answer", "c"),
    )
    one = histories(*script)[RULE]
    assert states(one) == [(0, 0, "verbatim"), (1, 1, "gone"), (2, 2, "verbatim")]
    assert describe_fate(one) == "verbatim again since 2, gone at 1"


def test_a_given_text_is_followed_wherever_it_stands() -> None:
    script = (
        ("user", "Go on."),
        ("answer", "The port is  8417,\nas ever."),
        ("answer", "x"),
        ("compact", "."),
        ("answer", "y"),
    )
    found = histories(*script, given=["port is 8417", "nobody said this"])
    assert states(found["port is 8417"]) == [(1, 1, "verbatim"), (2, 2, "gone")]
    assert states(found["nobody said this"]) == []
    assert describe_fate(found["nobody said this"]) == "not recorded in this file"
    assert pins_kept([found["nobody said this"]]) == (0, 0)
    assert list(found)[:2] == ["port is 8417", "nobody said this"]


def test_system_prompts_hold_pins_too() -> None:
    from dataclasses import replace

    from inspector.core.buffer import Prompt

    thread = session(("user", "Go."), ("answer", "a"), ("answer", "b"))
    asked = [replace(one, prompt=Prompt("Be brief. Cite files.")) for one in thread.requests]
    (history,) = recorded_pins(replace(thread, requests=asked), PinIndex([Pin("Cite files.")]))
    assert [(span.state, span.message) for span in history.spans] == [("verbatim", "system prompt")]


def test_under_a_policy() -> None:
    body = "word " * 4_000
    thread = session(("user", RULE), *[("answer", body) for _ in range(12)])
    ground = Ground(thread, 30_000, ["word word"])
    none, codex = (POLICIES[name] for name in ("none", "codex"))
    kept = replay_report(ground, none, none.settings((), 30_000), offline)
    assert pins_kept(kept.pins) == (2, 2)
    assert kept.pins == recorded(ground).pins
    shrunk = replay_report(ground, codex, codex.settings((), 30_000), offline)
    assert shrunk.compactions
    assert [one.pin for one in shrunk.pins] == [one.pin for one in kept.pins]
    assert pins_kept(shrunk.pins)[0] == sum(
        one.kept for one in shrunk.pins if one.pin.origin != "instruction"
    )


TURNS = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.sampled_from([RULE, "Go on.", "不要改 a.py。"])),
        st.tuples(
            st.just("answer"), st.sampled_from(["ok", RULE, "never touch the migrations folders"])
        ),
        st.tuples(
            st.just("compact"),
            st.sampled_from(["s", RULE, "Never touch the migrations folder at all."]),
        ),
        st.tuples(st.just("edit"), st.sampled_from(["a.py", "migrations/b.py"])),
    ),
    max_size=14,
)


@given(TURNS)
def test_every_request_is_in_one_span_and_says_what_the_buffer_says(turns: list[Turn]) -> None:
    thread = session(*turns)
    for one in follow(thread):
        covered = [n for span in one.spans for n in range(span.first, span.last + 1)]
        assert covered == list(range(one.pin.request, len(thread.requests)))
        for request in thread.requests[one.pin.request :]:
            holds = any(one.pin.text.rstrip(".。") in message.text for message in request.view)
            span = one.at(request.index)
            assert span is not None
            assert (span.state == "verbatim") == holds
            assert not span.message or span.message in {message.id for message in request.view}


_WORDS = (
    "never",
    "change",
    "billing",
    "folder",
    "without",
    "asking",
    "deploy",
    "release",
    "notes",
    "before",
    "tests",
)
_SPOKEN = st.lists(st.sampled_from(_WORDS), min_size=4, max_size=12).map(" ".join)


@given(
    st.lists(_SPOKEN, min_size=1, max_size=6, unique=True),
    st.lists(_SPOKEN, min_size=1, max_size=3),
)
def test_pin_that_a_message_paraphrases_is_among_those_that_are_compared(
    pins: list[str], said: list[str]
) -> None:
    index = PinIndex([Pin(text) for text in pins])
    message = Message("a", "assistant", (Text(". ".join(said) + "."),))
    every = set(range(len(pins)))
    paraphrased = {n for n in every if index.paraphrase(n, message) is not None}
    assert paraphrased <= index.likely_paraphrased(message, every)


def test_pin_without_a_word_of_the_message_is_not_compared() -> None:
    index = PinIndex([Pin(RULE), Pin("Deploy nothing before the release notes are written.")])
    message = Message(
        "a", "assistant", (Text("I changed the billing folder and the release notes."),)
    )
    assert index.likely_paraphrased(message, {0, 1}) == {0, 1}
    assert index.likely_paraphrased(message, {1}) == {1}
    assert not index.likely_paraphrased(
        Message("b", "assistant", (Text("All tests pass now."),)), {0, 1}
    )
