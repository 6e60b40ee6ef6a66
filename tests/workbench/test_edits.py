"""Changes by hand: what becomes of each message, what pairs with what, and that they are steps like any others."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps, loads
from inspector.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult
from inspector.core.outcome import FateName, fates
from inspector.core.validity import find_refusals
from inspector.workbench.edits import (
    Edit,
    Insertion,
    Removal,
    Rewrite,
    apply,
    editable,
    fresh_id,
    partners,
    read_edit,
    rewritten,
    write_edit,
)
from inspector.workbench.regression import describe_start, pytest_text, run, write_path
from inspector.workbench.steps_file import StepsSource, replay_steps, write_steps
from inspector.workbench.workbench import Workbench
from tests.gui.stepping import messages, open_it

CALLS = Message(
    "a",
    "assistant",
    (
        Thinking("hm", "signed"),
        Text("Both."),
        ToolCall("c1", "Bash", {"command": "ls"}),
        ToolCall("c2", "Free", "as it is"),
    ),
)
BUFFER = Buffer(
    (
        Message("u", "user", (Text("Do it 文件"),)),
        CALLS,
        Message("r1", "tool", (ToolResult("c1", "one\ntwo\nthree"), Image("image/png"))),
        Message("r2", "tool", (ToolResult("c2", "no", is_error=True),)),
        Message("z", "assistant", (Text("Done."),)),
    )
)


def told(edit: Edit, buffer: Buffer = BUFFER) -> dict[str, FateName]:
    outcome = apply(edit, buffer, None)
    return {fate.id: fate.name for fate in fates(buffer, outcome) if fate.name != "kept"}


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Rewrite("u", 0, "Do it"), {"u": "cut"}),
        (Rewrite("u", 0, "Do that 文件"), {"u": "replaced"}),
        (Rewrite("u", 0, "Do it 文件"), {}),
        (Rewrite("r1", 0, "one\nthree"), {"r1": "cut"}),
        (Rewrite("a", 2, '{"command": "rm"}'), {"a": "replaced"}),
        (Removal(("z",)), {"z": "dropped"}),
        (Removal(("r1",)), {"r1": "dropped", "a": "cut"}),
        (Removal(("r1",), partners=False), {"r1": "dropped"}),
        (Removal(("r1", "r2")), {"r1": "dropped", "r2": "dropped", "a": "cut"}),
        (Removal(("a",)), {"a": "dropped", "r1": "dropped", "r2": "dropped"}),
        (Insertion("n", "and now?"), {"n": "inserted"}),
    ],
)
def test_what_becomes_of_the_messages(edit: Edit, expected: dict[str, FateName]) -> None:
    assert told(edit) == expected


def test_a_call_whose_result_goes_is_taken_out_of_its_message() -> None:
    left = apply(Removal(("r1",)), BUFFER, None).buffer
    assert [type(part).__name__ for part in left.messages[1].parts] == [
        "Thinking",
        "Text",
        "ToolCall",
    ]
    assert not find_refusals(left)
    assert find_refusals(apply(Removal(("r1",), partners=False), BUFFER, None).buffer)


def test_a_message_that_said_nothing_but_the_call_goes_with_it() -> None:
    bare = Message("a", "assistant", (Thinking("hm"), ToolCall("c", "Bash", {})))
    buffer = Buffer(
        (Message("u", "user", (Text("go"),)), bare, Message("r", "tool", (ToolResult("c", "x"),)))
    )
    assert told(Removal(("r",)), buffer) == {"a": "dropped", "r": "dropped"}


SIX = Buffer(messages(6))


@given(st.sets(st.sampled_from([one.id for one in SIX.messages]), min_size=1))
def test_with_partners_nothing_is_left_unpaired(gone: set[str]) -> None:
    buffer = SIX
    left = apply(Removal(tuple(sorted(gone))), buffer, None).buffer
    broken = {"call-without-result", "result-without-call", "order"}
    assert not [one for one in find_refusals(left) if one.rule in broken]
    assert not {one.id for one in left.messages} & gone
    assert not partners(left, ()).messages


def test_arguments_stay_json_or_say_why_not() -> None:
    call = CALLS.parts[2]
    assert rewritten(call, '{"command": "rm 文"}') == ToolCall("c1", "Bash", {"command": "rm 文"})
    with pytest.raises(InspectorError, match="not JSON"):
        rewritten(call, "{command: rm}")
    with pytest.raises(InspectorError, match="JSON object"):
        rewritten(call, "[1]")
    assert rewritten(CALLS.parts[3], "{not json") == ToolCall("c2", "Free", "{not json")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda kids: st.lists(kids),
        max_leaves=5,
    )
)
def test_arguments_laid_out_for_editing_mean_the_same(value: Any) -> None:
    call = ToolCall("c", "t", {"v": value})
    text = editable(call)
    assert text is not None
    read = rewritten(call, text)
    assert isinstance(read, ToolCall)
    assert loads(dumps(read.arguments).encode()) == loads(dumps(call.arguments).encode())


def test_a_signature_does_not_outlive_its_thinking() -> None:
    edited = apply(Rewrite("a", 0, "hmm!"), BUFFER, None).buffer.messages[1]
    assert edited.parts[0] == Thinking("hmm!")


def test_images_are_not_edited_and_what_is_not_there_is_told() -> None:
    assert editable(Image("image/png")) is None
    for edit in (
        Rewrite("r1", 1, "x"),
        Rewrite("u", 7, "x"),
        Rewrite("?", 0, "x"),
        Removal(("?",)),
        Insertion("u", "x"),
    ):
        with pytest.raises(InspectorError):
            apply(edit, BUFFER, None)


@pytest.mark.parametrize(
    "edit", [Rewrite("u", 0, "a\x1b b"), Removal(("u", "z"), partners=False), Insertion("n", "文")]
)
def test_an_edit_survives_json(edit: Edit) -> None:
    assert read_edit(loads(dumps(write_edit(edit)).encode())) == edit


@pytest.mark.parametrize(
    "value", [None, [], {"kind": "burn"}, {"kind": "rewrite"}, {"kind": "drop", "messages": [1]}]
)
def test_what_is_no_edit_is_told(value: Any) -> None:
    with pytest.raises(InspectorError):
        read_edit(value)


def test_a_new_id_is_free() -> None:
    buffer = apply(Insertion(fresh_id(BUFFER), "x"), BUFFER, None).buffer
    assert fresh_id(BUFFER) == "by-hand-1"
    assert fresh_id(buffer) == "by-hand-2"


# -- as steps ----------------------------------------------------------------------------------------------------------


def edited() -> Workbench:
    """A tier, three edits after it, one of them undone, and another tier on top."""
    desk = Workbench()
    open_it(desk)
    ids = [message.id for message in desk.state.buffer().messages]
    desk.editing.rewrite(ids[0], 0, "Mend src/reader.py only.")
    desk.stepping.step("L0")
    desk.editing.drop([ids[2]])
    desk.stepping.undo()
    desk.editing.drop([ids[4]])
    desk.editing.insert("Go on, 请继续.")
    desk.stepping.step("L1")
    return desk


def test_edits_are_undone_branched_and_replayed() -> None:
    desk = edited()
    steps = desk.state.steps
    assert steps is not None
    assert [step.name for step in steps.taken][:1] == ["edit by hand"]
    assert len(steps.children(1)) == 2
    assert steps.fates(0)[0].name == "replaced"
    replay = replay_steps(loads(dumps(write_steps(steps, StepsSource())).encode()), steps.origin)
    assert not replay.elsewhere
    assert [step.buffer for step in replay.steps.taken] == [step.buffer for step in steps.taken]
    assert [step.edit for step in replay.steps.taken] == [step.edit for step in steps.taken]


def test_edits_are_exported_as_a_test_that_runs() -> None:
    steps = edited().state.steps
    assert steps is not None
    space: dict[str, Any] = {}
    exec(compile(pytest_text(steps, StepsSource()), "exported.py", "exec"), space)
    taken = run(space["POLICY"], space["START"], space["STATE"], space["STEPS"])
    assert [dict(one.fates) for one in taken] == [one["fates"] for one in space["EXPECTED"]]
    assert ["Go on, 请继续."] in [list(one.inserted) for one in taken]
    assert (
        run(steps.policy, describe_start(steps.origin), space["STATE"], write_path(steps)) == taken
    )


def test_what_changes_nothing_is_no_step_and_what_cannot_be_changes_nothing() -> None:
    desk = Workbench()
    open_it(desk)
    first = desk.state.buffer().messages[0]
    desk.editing.rewrite(first.id, 0, first.text)
    with pytest.raises(InspectorError):
        desk.editing.rewrite(desk.state.buffer().messages[1].id, 1, "{oops")
    assert desk.state.steps is None


def test_a_tier_that_waits_is_not_dropped_by_an_edit() -> None:
    desk = Workbench()
    open_it(desk)
    desk.stepping.choose(answer_by="hand")
    desk.stepping.step("L3b")
    assert desk.state.asking is not None
    desk.editing.insert("hello")
    assert desk.state.asking is not None
    assert desk.state.steps is None
    assert "waits" in desk.state.failure


def test_the_next_message_is_selected_where_one_went_and_the_new_one_where_it_came() -> None:
    desk = Workbench()
    open_it(desk)
    listed = desk.state.buffer().messages
    desk.select(listed[2].id)
    desk.editing.drop([listed[2].id])
    assert desk.state.selected == listed[3].id
    desk.editing.insert("x")
    assert desk.editing.message() is desk.state.buffer().messages[-1]


def test_edits_that_come_while_the_start_is_worked_out_are_all_taken_in_order() -> None:
    waiting: list[Callable[[], None]] = []

    at_once = True

    def later(
        job: Callable[[], Any], done: Callable[[Any], None], *_: object, **__: object
    ) -> None:
        if at_once:
            done(job())
        else:
            waiting.append(lambda: done(job()))

    desk = Workbench(later)
    open_it(desk)
    at_once = False
    listed = desk.state.buffer().messages
    desk.editing.rewrite(listed[0].id, 0, "Only the reader.")
    desk.editing.insert("first")
    desk.editing.insert("second")
    assert desk.state.steps is None
    desk.move(0)
    while waiting:
        waiting.pop(0)()
    desk.move(1)
    while waiting:
        waiting.pop(0)()
    texts = [message.text for message in desk.state.buffer().messages]
    assert texts[0] == "Only the reader."
    assert texts[-2:] == ["first", "second"]
