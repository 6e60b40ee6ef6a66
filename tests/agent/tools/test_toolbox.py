"""The door to the tools: what is asked first, how wrong arguments are told, what "always" covers."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.agent.tools.common import Question
from inspector.agent.tools.toolbox import TOOLS, WITHOUT_TASK, Toolbox, denied, prompt
from inspector.agent.tools.writing import OPEN_END
from inspector.core.message import ToolCall


def _asked(tools: Toolbox, name: str, **arguments: Any) -> Question:
    found = tools.needs_permission(_call(name, **arguments))
    assert found is not None
    return found


def _call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall("id", name, arguments)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (_call("read_file"), "read_file lacks 'path'. It needs path (a text)."),
        (_call("read_file", path=3), "read_file: 'path' must be a text, not int."),
        (
            _call("read_file", path="a", offset="1"),
            "read_file: 'offset' must be a whole number, not str.",
        ),
        (
            _call("read_file", path="a", offset=True),
            "read_file: 'offset' must be a whole number, not bool.",
        ),
        (_call("read_file", path="a", offset=0), "read_file: 'offset' must be at least 1."),
        (
            _call("edit_file", path="a"),
            "edit_file lacks 'old_text'. It needs path (a text), old_text (a text), new_text",
        ),
        (ToolCall("id", "run_command", "ls"), "run_command takes a JSON object: command (a text)."),
        (
            ToolCall("id", "list_files", None),
            "list_files takes a JSON object: nothing; all its arguments are optional.",
        ),
        (_call("fly"), "There is no tool 'fly'. There are list_files, read_file,"),
        (_call("task", prompt="x"), "task starts a sub-agent, which this agent has not."),
    ],
)
def test_wrong_arguments_are_told(workspace: Path, call: ToolCall, said: str) -> None:
    """As a result that says what is needed; nobody is asked for a call that would be refused anyway."""
    with Toolbox(workspace) as tools:
        message = tools.run(call)
        assert tools.needs_permission(call) is None
    assert message.role == "tool"
    assert message.result is not None
    assert message.result.is_error
    assert message.result.call_id == "id"
    assert message.result.content.startswith(said)


def test_a_whole_number_may_come_with_a_point(workspace: Path) -> None:
    """Some models write 2.0; null counts as not given."""
    with Toolbox(workspace) as tools:
        result = tools.run(_call("read_file", path="a.txt", offset=2.0, limit=None)).result
    assert result is not None
    assert result.content == "two\nthree\n"


def test_looking_is_free_and_changing_is_not(workspace: Path) -> None:
    """The question holds the exact command, or the diff; and what always would cover."""
    with Toolbox(workspace) as tools:
        free = (
            _call("list_files"),
            _call("read_file", path="a.txt"),
            _call("search_files", pattern="x"),
        )
        assert [tools.needs_permission(call) for call in free] == [None] * 3
        edit = _asked(tools, "edit_file", path="a.txt", old_text="two", new_text="2")
        assert edit.exact == "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
        assert "Always: edit_file may change any file in this workspace" in edit.covers
        assert "+hi" in _asked(tools, "write_file", path="new.txt", content="hi\n").exact
        run = _asked(tools, "run_command", command="rm -rf build", timeout_s=9_999)
        assert (run.says, run.exact) == (f"Run in {workspace}, for at most 600 s:", "rm -rf build")
        assert "exactly this command" in run.covers
        assert (workspace / "a.txt").read_text() == "one\ntwo\nthree\n", "asking changes nothing"


def test_always_is_narrow() -> None:
    """One tool that changes files; one very command."""
    with Toolbox(Path(__file__).parent) as tools:
        key = tools.covered_by_always
        assert key(_call("edit_file", path="a")) == key(_call("edit_file", path="b"))
        assert key(_call("edit_file", path="a")) != key(_call("write_file", path="a"))
        assert key(_call("run_command", command="ls")) == key(_call("run_command", command="ls"))
        assert key(_call("run_command", command="ls")) != key(
            _call("run_command", command="ls -la")
        )
        assert key(_call("run_command", command="ls")) != key(_call("edit_file", path="ls"))


def test_nothing_is_left_out_of_a_question(workspace: Path) -> None:
    """However long: what shows it may cut, and says so."""
    hidden = "x = 1" + " " * 330 + '; import os; os.system("id")'
    with Toolbox(workspace) as tools:
        assert f"+{hidden}" in _asked(tools, "write_file", path="new", content=hidden).exact
        assert _asked(tools, "run_command", command=hidden).exact == hidden
        asked = _asked(tools, "write_file", path="new", content="line\n" * 5_000).exact
        assert asked.count("\n+line") == 5_000
        assert len(_asked(tools, "write_file", path="new", content="x" * 900_000).exact) > 900_000


def test_what_was_read_is_what_is_written(workspace: Path) -> None:
    """A file that changes between question and answer is not changed by something that nobody read."""
    call = _call("edit_file", path="a.txt", old_text="two", new_text="2")
    with Toolbox(workspace) as tools:
        tools.needs_permission(call)
        (workspace / "a.txt").write_text("rm -rf two\n")
        result = tools.run(call).result
    assert result is not None
    assert "meanwhile" in result.content
    assert (workspace / "a.txt").read_text() == "rm -rf two\n"


_LINES = st.lists(
    st.sampled_from(["a", "b", "", "a ", "\t", "c\r", "\x0b", "\u2028", "é"]), max_size=12
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None
)
@given(before=_LINES, after=_LINES, ends=st.tuples(st.booleans(), st.booleans()))
def test_a_diff_makes_the_one_of_the_other(
    workspace: Path, before: list[str], after: list[str], ends: tuple[bool, bool]
) -> None:
    """Read by hand: with what is shown, the old text becomes the very bytes that are written; line ends, too."""
    old, new = (
        "\n".join(lines) + "\n" * end for lines, end in zip((before, after), ends, strict=True)
    )
    (workspace / "d.txt").write_bytes(old.encode())
    with Toolbox(workspace) as tools:
        exact = _asked(tools, "write_file", path="d.txt", content=new).exact
    assert _patched(old, exact) == new


def _patched(old: str, diff: str) -> str:
    """`old` with the hunks done to it."""
    lines, made, at, sign = old.split("\n"), list[str](), 0, ""
    lines = [f"{one}\n" for one in lines[:-1]] + [lines[-1]] * bool(lines[-1])
    for row in diff.split("\n") if diff else ():
        if found := re.match(r"@@ -(\d+),(\d+) ", row):
            start = int(found[1]) - (found[2] != "0")
            made += lines[at:start]
            at = start
        elif row == OPEN_END:
            made[-1:] = [one.removesuffix("\n") if sign != "-" else one for one in made[-1:]]
        else:
            sign = row[0]
            if sign in " -":
                assert lines[at].removesuffix("\n") == row[1:]
                at += 1
            if sign in " +":
                made.append(row[1:] + "\n")
    return "".join(made + lines[at:])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = sorted({key for tool in TOOLS for key in tool.definition["input_schema"]["properties"]})  # type: ignore[index,call-overload]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None
)
@given(
    name=st.sampled_from([tool.name for tool in TOOLS if tool.name != "run_command"]),
    arguments=JSON | st.dictionaries(st.sampled_from(KEYS), JSON, max_size=5),
)
def test_nothing_that_a_model_sends_breaks_a_tool(
    workspace: Path, name: str, arguments: Any
) -> None:
    """Every call has a result; asking about it neither."""
    with Toolbox(workspace) as tools:
        call = ToolCall("id", name, arguments)
        tools.needs_permission(call)
        message = tools.run(call)
    assert message.result is not None
    message.result.content.encode("utf-8")


def test_the_prompt_is_short_and_has_the_tools(workspace: Path) -> None:
    """A sub-agent starts none of its own."""
    main, sub = prompt(workspace), prompt(workspace, sub_agent=True)
    assert main.tools == TOOLS
    assert sub.tools == WITHOUT_TASK
    assert str(workspace) in (main.system or "")
    assert len(main.system or "") < 1_500
    result = denied(_call("run_command")).result
    assert result is not None
    assert result.is_error
