"""A cut is made again on every later request of the thread, as long as it begins with the same items."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer
from inspector.core.dialects.cuts import BufferCut, Recut, cut_of, recut
from inspector.core.dialects.rewrite import items_of, plan_recipes, with_items
from inspector.core.message import Message, Text
from inspector.core.validity import find_refusals
from tests.core.dialects.bodies import (
    DIALECTS,
    TURNS,
    body_of,
    buffer_of,
    marked,
    rewrite,
    said,
    wire_items,
)
from tests.core.dialects.edits import SUMMARY, buffer_ends_open, edited


def recut_body(cuts: list[BufferCut], body: dict[str, Any]) -> tuple[dict[str, Any], Recut]:
    """The cuts on a body that holds its whole conversation, as the gate makes them."""
    dialect = cuts[0].dialect
    done = recut(cuts, items_of(dialect, body))
    return (with_items(dialect, body, done.items) if done.made else dict(body)), done


@st.composite
def growing(draw: st.DrawFn) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Two requests of a thread: the second one holds the first, and more."""
    dialect = draw(st.sampled_from(DIALECTS))
    items = wire_items(dialect, draw(TURNS))
    ends = [n + 1 for n in range(len(items)) if buffer_ends_open(dialect, items, n)]
    first = draw(st.sampled_from(ends))
    second = draw(st.sampled_from([n for n in ends if n >= first]))
    return dialect, body_of(dialect, items[:first]), body_of(dialect, items[:second])


def _cut(dialect: str, body: dict[str, Any], buffer: Buffer, new: Buffer) -> Any:
    items = items_of(dialect, body)
    return cut_of(dialect, items, plan_recipes(dialect, items, buffer.messages, new.messages))


@given(st.data(), growing())
def test_the_original_gives_what_was_forwarded(data: st.DataObject, grown: Any) -> None:
    dialect, body, _ = grown
    buffer = buffer_of(dialect, body)
    new = data.draw(edited(buffer))
    cut = _cut(dialect, body, buffer, new)
    forwarded = rewrite(dialect, body, buffer, new)
    if cut is None:
        assert forwarded == body
    else:
        assert recut_body([cut], body)[0] == forwarded


@given(st.data(), growing())
def test_more_behind_it_is_passed_on(data: st.DataObject, grown: Any) -> None:
    """Later = original + more -> replacement + more; and it is as valid as both were."""
    dialect, body, later = grown
    buffer = buffer_of(dialect, body)
    new = data.draw(edited(buffer))
    cut = _cut(dialect, body, buffer, new)
    if cut is None:
        return
    before, after = items_of(dialect, body), items_of(dialect, later)
    moved = items_of(dialect, marked(later, -1)) if dialect == "anthropic" else after
    done = recut([cut], moved)
    assert (done.made, done.left) == (1, 0)
    count = len(after) - len(before)
    expected = [*recut([cut], before).items, *after[len(before) :]]
    again, wanted = (
        buffer_of(dialect, body_of(dialect, one))
        for one in (_bare(dialect, done.items), _bare(dialect, expected))
    )
    assert said(again.messages) == said(wanted.messages)
    if count > 1:
        assert all(
            one is other for one, other in zip(done.items[-count:-1], moved[-count:-1], strict=True)
        )
    broken = {bad.rule for bad in find_refusals(new)} | {
        bad.rule for bad in find_refusals(buffer_of(dialect, later))
    }
    assert {bad.rule for bad in find_refusals(again)} <= broken


def _bare(dialect: str, items: list[Any]) -> list[Any]:
    """Without the system prompt that `body_of` puts in front."""
    return items[1:] if dialect == "openai-chat" else items


@given(st.data(), growing())
def test_cut_again_later(data: st.DataObject, grown: Any) -> None:
    """The second cut is of what the first one left; both are made on the next request."""
    dialect, body, later = grown
    buffer = buffer_of(dialect, body)
    first = _cut(dialect, body, buffer, data.draw(edited(buffer)))
    if first is None:
        return
    seen = recut_body([first], later)[0]
    buffer = buffer_of(dialect, seen)
    new = data.draw(edited(buffer))
    second = _cut(dialect, seen, buffer, new)
    if second is None:
        return
    done, told = recut_body([first, second], later)
    assert (told.made, told.left) == (2, 0)
    assert done == rewrite(dialect, seen, buffer, new)


@given(st.sampled_from(DIALECTS), TURNS)
def test_another_beginning_is_told(dialect: str, turns: Any) -> None:
    """The client compacted by itself, or went back: the cut waits, and nothing of the request is touched."""
    body = body_of(dialect, wire_items(dialect, turns))
    buffer = buffer_of(dialect, body)
    cut = _cut(dialect, body, buffer, buffer.with_messages([SUMMARY, buffer.messages[-1]]))
    if cut is None:
        return
    other = body_of(
        dialect, wire_items(dialect, [replace(turns[0], said="its own summary"), *turns[1:]])
    )
    same, told = recut_body([cut], other)
    assert (told.made, told.left) == (0, 1)
    assert same == other


CLAUDE = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "do", "cache_control": {"type": "ephemeral"}}],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I did"},
        ],
    },
    {"role": "user", "content": [{"type": "text", "text": "and this"}]},
]


def _clean(messages: tuple[Message, ...]) -> list[Message]:
    return [replace(m, parts=(Text("I…"),)) if m.role == "assistant" else m for m in messages]


def test_what_passes_does_not_count() -> None:
    """A mark that moved, a block that became a string, thinking that was dropped, a reminder that went away."""
    body = body_of("anthropic", CLAUDE)
    buffer = buffer_of("anthropic", body)
    cut = _cut("anthropic", body, buffer, buffer.with_messages([SUMMARY, *buffer.messages[2:]]))
    reminded = {"type": "text", "text": "<system-reminder>\ntodo\n</system-reminder>"}
    later = [
        {"role": "user", "content": "do"},
        {"role": "assistant", "content": [reminded, {"type": "text", "text": "I did"}]},
        {"role": "user", "content": "and this"},
    ]
    done = recut([cut], later)
    assert done.made == 1
    assert done.items == [{"role": "user", "content": "what was before, in short"}, later[2]]


def test_a_piece_is_found_in_a_string_too() -> None:
    """A recipe that points into a list of blocks meets the same text as a string."""
    body = body_of("anthropic", [{"role": "user", "content": [{"type": "text", "text": "a"}]}])
    buffer = buffer_of("anthropic", body)
    parts = (*buffer.messages[0].parts, Text("b"))
    cut = _cut(
        "anthropic", body, buffer, buffer.with_messages([replace(buffer.messages[0], parts=parts)])
    )
    (item,) = recut([cut], [{"role": "user", "content": "a"}]).items
    assert [block["text"] for block in item["content"]] == ["a", "b"]


def test_nothing_changed_is_no_cut() -> None:
    body = body_of("anthropic", CLAUDE)
    buffer = buffer_of("anthropic", body)
    assert _cut("anthropic", body, buffer, buffer) is None
