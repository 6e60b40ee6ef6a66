"""Searching: what matches, where, within limits; no pattern holds anybody up."""

from pathlib import Path

from inspector.agent.tools.common import ToolLimits
from inspector.agent.tools.toolbox import Toolbox
from inspector.core.message import ToolCall
from tests.agent.tools.conftest import SECRET, Do


def test_where_it_stands(do: Do) -> None:
    """Path, line, text; in order of names."""
    assert do("search_files", pattern="e$").content == "a.txt:1: one\na.txt:3: three"
    assert do("search_files", pattern="VALUE", ignore_case=True).content == "sub/b.py:1: value = 1"
    assert do("search_files", pattern="e", glob="*.py").content == "sub/b.py:1: value = 1"
    assert do("search_files", pattern="e", path="sub/deep").content == "sub/deep/c.txt:1: deep"
    assert do("search_files", pattern="zzz").content == "No line matches."
    assert "only the first 1" in do("search_files", pattern="e", limit=1).content


def test_a_pattern_that_is_none(do: Do) -> None:
    """Says what is wrong with it."""
    result = do("search_files", pattern="(")
    assert result.is_error
    assert "no regular expression" in result.content


def test_nothing_outside_is_searched(do: Do) -> None:
    """Links are not followed."""
    assert SECRET not in do("search_files", pattern="never").content


def test_a_catastrophic_pattern_is_ended(workspace: Path) -> None:
    """What was found before it is kept."""
    (workspace / "a.txt").write_text("aab\n" + "a" * 60 + "b\n")
    with Toolbox(workspace, ToolLimits(look_s=0.5)) as tools:
        result = tools.run(
            ToolCall("c", "search_files", {"pattern": "^(a|aa)+$|aab", "path": "a.txt"})
        ).result
    assert result is not None
    assert "a.txt:1: aab" in result.content
    assert "the time was over" in result.content


def test_a_search_can_be_stopped(workspace: Path) -> None:
    """At once."""
    (workspace / "a.txt").write_text("a" * 60 + "b\n")
    with Toolbox(workspace) as tools:
        call = ToolCall("c", "search_files", {"pattern": "^(a|aa)+$"})
        result = tools.run(call, cancelled=lambda: True).result
    assert result is not None
    assert "stopped" in result.content


def test_long_lines_and_binary_files(do: Do, workspace: Path) -> None:
    """A long line is shown around its match; a binary file is not searched."""
    (workspace / "long").write_text("x" * 5_000 + "needle" + "y" * 5_000)
    (workspace / "binary").write_bytes(b"\0needle\n")
    found = do("search_files", pattern="needle").content
    assert "long:1: …" in found
    assert len(found) < 400
    assert "binary" not in found


def test_more_text_than_a_pipe_holds(do: Do, workspace: Path) -> None:
    """Nothing waits for anything, whichever end is the slower one."""
    for n in range(5):
        (workspace / f"big{n}").write_text("some line of text\n" * 50_000)
    found = do("search_files", pattern="line", glob="big*").content
    assert found.count("\n") == 100
