"""Where a buffer shrank or changed: which kind, the evidence, and what is no loss although it looks like one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Prompt, Stretch, Tool
from inspector.core.changes import classify_change, compare_messages, is_placeholder
from inspector.core.drops import Drop, drop_sizes, session_drops, thread_drops
from inspector.core.message import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from inspector.core.session import Compaction, Request, Session, Thread
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.usage import Usage
from inspector.transcripts.files import open_transcript
from tests.shared import transcripts

KNOWN = Prompt("sys", (Tool("read", {}), Tool("write", {})))


def user(id: str, text: str = "", **more: Any) -> Message:  # noqa: A002
    return Message(id, "user", (Text(text or id),), **more)


def says(id: str, text: str = "", *parts: Any) -> Message:  # noqa: A002
    return Message(id, "assistant", (Text(text or id), *parts))


def calls(id: str, number: int, arguments: Any = None) -> Message:  # noqa: A002
    return Message(
        id,
        "assistant",
        (ToolCall(f"c{number}", "read", {"path": "a"} if arguments is None else arguments),),
    )


def result(id: str, number: int, content: str = "a long result " * 30, **more: Any) -> Message:  # noqa: A002
    return Message(id, "tool", (ToolResult(f"c{number}", content),), **more)


BASE = (user("u0", "do it"), calls("a1", 1), result("r1", 1), calls("a2", 2), result("r2", 2))
THOUGHT = Message("a1", "assistant", (Thinking("hm"), *BASE[1].parts))
IMAGE = Message("r1", "tool", (*BASE[2].parts, Image("image/png", "AAAA")))
REMINDED = Message(
    "u0", "user", (Text("do it"), Text("<system-reminder>\ntoday is Monday\n</system-reminder>"))
)


def thread(
    *buffers: Sequence[Message],
    tokens: Sequence[int | None] = (),
    models: Sequence[str] = (),
    prompts: Sequence[Prompt] = (),
    edits: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
    compactions: Sequence[Compaction] = (),
    **more: Any,
) -> Thread:
    """Requests with these buffers, each in a stretch of its own where it does not go on from the one before."""
    requests: list[Request] = []
    stretch = Stretch()
    for n, buffer in enumerate(buffers):
        before = requests[-1].view.messages() if requests else ()
        if tuple(buffer[: len(before)]) == before:
            for message in buffer[len(before) :]:
                stretch.append(message)
        else:
            stretch = Stretch(own=buffer)
        told = tokens[n] if n < len(tokens) else None
        usage = Usage(told) if told is not None else None
        model = models[n] if n < len(models) else "m"
        prompt = prompts[n] if n < len(prompts) else KNOWN
        requests.append(
            Request(
                n,
                stretch.view(),
                prompt,
                usage,
                model,
                line=n + 1,
                edits=tuple((edits or {}).get(n, ())),
            )
        )
    return Thread(more.pop("id", "main"), requests=requests, compactions=compactions, **more)


def only(found: Thread) -> Drop:
    (drop,) = thread_drops(found).found
    return drop


SUMMARY = user("s", "This is what was before.", summary=True)
LONGER = (*BASE, says("a3"), user("u1"))


@pytest.mark.parametrize(
    ("kind", "loss", "after", "lost", "changed"),
    [
        ("compaction", True, (SUMMARY, user("u1")), 5, 0),
        ("compaction", True, (SUMMARY, *BASE[3:], user("u1")), 3, 0),
        (
            "micro-compaction",
            True,
            (*BASE[:2], result("r1", 1, "[Old tool result content cleared]"), *BASE[3:]),
            0,
            1,
        ),
        (
            "micro-compaction",
            True,
            (*BASE[:2], result("x", 1, "[cleared]"), *BASE[3:], user("u1")),
            0,
            1,
        ),
        (
            "micro-compaction",
            True,
            (*BASE[:2], result("r1", 1, "[Previous: used Bash]"), *BASE[3:]),
            0,
            1,
        ),
        (
            "micro-compaction",
            True,
            (*BASE[:2], result("r1", 1, "", mark="placeholder"), *BASE[3:]),
            0,
            1,
        ),
        ("rewind", True, (*BASE[:1], user("u9", "rather not")), 4, 0),
        ("rewind", True, (*BASE[:3],), 2, 0),
        ("edit", True, (BASE[0], *BASE[3:], user("u1")), 2, 0),
        ("edit", True, (*BASE[:2], result("x", 1, "a long result a long result"), *BASE[3:]), 0, 1),
        ("edit", True, (user("z", "something else"),), 5, 0),
        ("edit", True, (*BASE[:3], says("z", "I did it otherwise")), 2, 0),
        # what is told otherwise, and is no loss
        ("reminders", False, (REMINDED, *BASE[1:]), 0, 1),
        ("rewritten", False, (BASE[0], calls("x", 1, '{"path": "a"}'), *BASE[2:]), 0, 1),
        ("rewritten", False, (user("x", "do it \n"), *BASE[1:]), 0, 1),
    ],
)
def test_kinds(kind: str, loss: bool, after: Sequence[Message], lost: int, changed: int) -> None:
    drop = only(thread(BASE, after, tokens=(9_000, 8_900)))
    assert (drop.kind, drop.loss, len(drop.lost), len(drop.changed)) == (kind, loss, lost, changed)
    assert (drop.request, drop.line) == (1, 2)
    assert drop.why.endswith(".")
    assert drop.marker


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("thinking", (BASE[0], THOUGHT, *BASE[2:]), BASE),
        (
            "images",
            (*BASE[:2], IMAGE, *BASE[3:]),
            (*BASE[:2], result("x", 1, f"{'a long result ' * 30}[image]"), *BASE[3:]),
        ),
        (
            "reminders",
            (REMINDED, *BASE[1:]),
            (*BASE, user("n", "<system-reminder>\nx\n</system-reminder>")),
        ),
        (
            "reminders",
            (BASE[0], user("m", "<system-reminder>\nx\n</system-reminder>"), *BASE[1:]),
            BASE,
        ),
        ("thinking", (BASE[0], Message("t", "assistant", (Thinking("hm"),)), *BASE[1:]), BASE),
    ],
)
def test_no_losses(kind: str, before: Sequence[Message], after: Sequence[Message]) -> None:
    if kind == "reminders" and before[0] is REMINDED:
        after = (BASE[0], *after[1:])
    drop = only(thread(before, after))
    assert (drop.kind, drop.loss) == (kind, False)
    assert "No text of the conversation was lost" in drop.why


def test_growth_and_moved_signatures_are_nothing() -> None:
    signed = replace(THOUGHT, parts=(Thinking("hm", "signature"), *BASE[1].parts))
    assert not thread_drops(thread(BASE[:1], BASE[:3], BASE, LONGER, LONGER)).found
    drop = only(thread((BASE[0], THOUGHT, *BASE[2:]), (BASE[0], signed, *BASE[2:])))
    assert (drop.kind, drop.loss) == ("rewritten", False)


def test_what_the_file_records_is_told_as_that() -> None:
    compaction = Compaction(1, "auto", summary=SUMMARY, kept=0)
    found = thread(BASE, (SUMMARY, user("u1")), tokens=(100_000, 20_000), compactions=(compaction,))
    drop = only(found)
    assert (drop.kind, drop.marker, drop.compaction, len(drop.lost)) == (
        "compaction",
        "recorded auto compaction",
        0,
        5,
    )
    micro = Compaction(1, "micro", kind="micro", cleared=("r1",))
    drop = only(
        thread(
            BASE, (*BASE[:2], replace(BASE[2], mark="placeholder"), *BASE[3:]), compactions=(micro,)
        )
    )
    assert (drop.kind, drop.compaction) == ("micro-compaction", 0)


CLEARED = {
    "type": "clear_tool_uses_20250919",
    "cleared_tool_uses": 3,
    "cleared_input_tokens": 40_000,
}


def test_the_provider_says_what_it_cleared() -> None:
    found = thread(
        BASE,
        LONGER,
        (*LONGER, user("u2")),
        tokens=(90_000, 52_000, 52_500),
        edits={1: [CLEARED], 2: [CLEARED]},
    )
    drop = only(found)  # once, although it is cleared again in every later request
    assert (drop.kind, drop.request, drop.loss) == ("server-side clearing", 1, True)
    assert "clear_tool_uses_20250919" in drop.marker
    assert "40,000" in drop.why


def _predicted_end(found: Thread) -> int | None:
    """What the second request would have come to by the report of the first."""
    first, second = found.requests
    shorter = replace(
        found, requests=(first,), end=second.view, prompt=first.prompt, compactions=()
    )
    return thread_pressures(shorter).end.tokens


@pytest.mark.parametrize(
    ("kind", "loss", "more"),
    [
        ("server-side clearing", True, {}),
        ("model switch", False, {"models": ("m", "other")}),
        (
            "prompt",
            False,
            {"prompts": (KNOWN, Prompt("sys", KNOWN.tools[:1] if KNOWN.tools else ()))},
        ),
        ("unexplained", True, {"prompts": (Prompt(), Prompt())}),
    ],
)
def test_the_counts_fall_while_the_messages_grow(
    kind: str, loss: bool, more: dict[str, Any]
) -> None:
    fallen = thread(BASE, LONGER, tokens=(90_000, 50_000), **more)
    drop = only(fallen)
    assert (drop.kind, drop.loss) == (kind, loss)
    before, after = drop_sizes(fallen, thread_pressures(fallen), drop).tokens
    assert (before, after) == (_predicted_end(fallen), 50_000)
    assert not drop.lost
    assert not thread_drops(thread(BASE, LONGER, tokens=(90_000, 89_000), **more)).found


def test_a_model_switch_that_takes_thinking() -> None:
    drop = only(thread((BASE[0], THOUGHT, *BASE[2:]), BASE, models=("m", "other")))
    assert (drop.kind, drop.loss) == ("model switch", False)


def test_a_subagent_is_no_loss() -> None:
    main = replace(thread(BASE, LONGER, tokens=(90_000, 91_000)), id="main")
    child = thread((user("t", "look"),), tokens=(2_000,), id="a1", parent="main", parent_call="c9")
    (drop,) = session_drops(Session("x", (main, child)))
    assert (drop.thread, drop.kind, drop.loss, drop.marker) == ("a1", "sub-agent", False, "call c9")
    assert drop_sizes(child, thread_pressures(child), drop).tokens == (91_000, 2_000)


def test_looking_further_is_the_same_as_looking_anew() -> None:
    buffers = (BASE, LONGER, BASE[:1], LONGER, (SUMMARY,), (SUMMARY, user("u5")))
    whole = thread(*buffers, tokens=(1_000,) * 6)
    found = thread_drops(replace(whole, requests=()))
    for length in range(7):
        found = thread_drops(replace(whole, requests=whole.requests[:length]), None, found)
    assert found == thread_drops(whole)
    other = thread((user("x"),), (user("y"),))
    assert thread_drops(other, None, found) == thread_drops(other)


def test_drops_when_the_last_request_is_another_one_keep_those_before_it() -> None:
    whole = thread(BASE, BASE[:2], BASE, LONGER, LONGER[:3])
    on_its_way = replace(whole.requests[-1], view=whole.requests[-2].view)
    former = thread_drops(replace(whole, requests=(*whole.requests[:-1], on_its_way)))
    assert len(former.found) == 1
    grown = thread_drops(whole, None, former)
    assert grown == thread_drops(whole)
    assert len(grown.found) == 2
    assert grown.found[0] is former.found[0]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("", True),
        ("[Old tool result content cleared]", True),
        ("[cleared]", True),
        ("<content removed to save space>", True),
        ("(output omitted: 3,000 lines)", True),
        ("[TOOL_RESULT_TRUNCATED]", True),
        ("Tool output was pruned to save space.", True),
        ("cleared the table", False),
        ("[1, 2, 3]", False),
        ("<html>cut</html> and more text behind it", False),
    ],
)
def test_placeholders(text: str, is_one: bool) -> None:
    assert is_placeholder(text) is is_one


_PARTS = st.one_of(
    st.builds(
        Text, st.sampled_from(["", "a", "b c", "<system-reminder>x</system-reminder>", '{"a": 1}'])
    ),
    st.builds(Thinking, st.sampled_from(["", "t"])),
    st.builds(
        ToolCall,
        st.sampled_from(["c1", "c2", ""]),
        st.just("f"),
        st.sampled_from([{}, {"a": [1]}, "free", "[1"]),
    ),
    st.builds(
        ToolResult, st.sampled_from(["c1", "c2", ""]), st.sampled_from(["", "out", "[cleared]"])
    ),
    st.builds(Image, st.just("image/png"), st.sampled_from(["", "AA"])),
    st.builds(Opaque, st.just("x"), st.sampled_from([None, {"a": 1}])),
)
_MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from("abcdefgh"),
        st.sampled_from(["user", "assistant", "tool", "system"]),
        st.lists(_PARTS, max_size=3).map(tuple),
        summary=st.booleans(),
        mark=st.sampled_from(["", "meta", "attachment", "placeholder"]),
    ),
    max_size=7,
    unique_by=lambda message: message.id,
)


@given(before=_MESSAGES, after=_MESSAGES)
def test_every_message_is_accounted_for(before: list[Message], after: list[Message]) -> None:
    found = compare_messages(before, after)
    assert len(found.lost) + len(found.faded) + len(found.changed) + found.kept == len(before)
    assert len(found.fresh) == len(after) - len(found.changed) - found.kept
    assert all(classify_change(one, other) is not None for one, other, _ in found.changed)
    assert compare_messages(before, before).kept == len(before)
    session_drops(Session("x", (thread(before, after, tokens=(9_000, 10)),)))


REAL = [path for path in transcripts("**/*.json*") if path.name != "expected_tokens.json"]


@pytest.mark.parametrize("path", REAL, ids=lambda path: "-".join(path.parts[-3:])[-60:])
def test_real_transcripts(path: Path) -> None:
    """Every recorded compaction with a request behind it is told as one; what is silent tells its evidence."""
    if path.stat().st_size > 5_000_000:
        pytest.skip("enough is enough")
    try:
        session = open_transcript(path)
    except Exception:  # noqa: BLE001 - not every file there is a transcript that is known here
        pytest.skip("cannot be read")
    for one in session.threads:
        found = thread_drops(one, session).found
        at = {
            compaction.before_request
            for compaction in one.compactions
            if 0 < compaction.before_request < len(one.requests)
        }
        assert {drop.request for drop in found if drop.compaction is not None} == at
        for drop in found:
            assert drop.why
            assert drop.marker
            assert drop.kind != "edit" or drop.loss
