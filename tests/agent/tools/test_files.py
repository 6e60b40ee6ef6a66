"""Reading, listing, editing and writing: what stands in the file, within limits, whole or not at all."""

import stat
from pathlib import Path
from typing import Any

import pytest

from inspector.agent.tools.common import ToolLimits
from inspector.agent.tools.toolbox import Toolbox
from inspector.agent.tools.writing import Change, plan_edit
from inspector.core.message import ToolCall
from tests.agent.tools.conftest import Do


def test_lines_from_here_to_there(do: Do) -> None:
    """1-based; what follows is told with the number to go on with."""
    assert (
        do("read_file", path="a.txt", offset=2, limit=1).content
        == "two\n… lines 2 to 2; continue with offset=3 …"
    )
    assert do("read_file", path="a.txt", offset=3).content == "three\n"
    assert do("read_file", path="a.txt", numbers=True, limit=1).content.startswith("     1\tone\n")
    result = do("read_file", path="a.txt", offset=4)
    assert result.is_error
    assert "no line 4" in result.content


def test_binary_empty_and_broken_text(do: Do, workspace: Path) -> None:
    """Each is told as what it is."""
    (workspace / "image").write_bytes(b"\x89PNG\0\0")
    (workspace / "empty").write_bytes(b"")
    (workspace / "latin").write_bytes(b"caf\xe9\n")
    assert "binary file of 6 bytes" in do("read_file", path="image").content
    assert do("read_file", path="empty").content == "(empty is empty)"
    assert do("read_file", path="latin").content == "caf\ufffd\n"


def test_huge_lines_and_huge_files(workspace: Path) -> None:
    """Nothing is read without bound, and what is left out is told."""
    (workspace / "line").write_text("x" * 50_000 + "\nshort\n")
    with (workspace / "sparse").open("wb") as file:
        file.write(b"start\n")
        file.truncate(50_000_000_000)
    (workspace / "many").write_text("line\n" * 10_000)
    with Toolbox(
        workspace, ToolLimits(line_bytes=1_000, read_lines=100, scan_bytes=1_000_000)
    ) as tools:

        def read(path: str, **more: int) -> str:
            result = tools.run(ToolCall("c", "read_file", {"path": path, **more})).result
            assert result is not None
            return result.content

        assert read("line") == "x" * 1_000 + " … 49,001 bytes of this line left out …\nshort\n"
        assert "binary" in read("sparse")
        assert read("many").endswith("line\n… lines 1 to 100; continue with offset=101 …")
        assert read("many", offset=9_999) == "line\nline\n"


def test_a_listing(do: Do, workspace: Path) -> None:
    """Sizes, links, kinds; not what was fetched, unless asked; a limit that is told."""
    (workspace / ".git").mkdir()
    (workspace / ".git" / "config").write_text("x")
    listed = do("list_files").content.splitlines()
    assert "a.txt  14 bytes" in listed
    assert "inner -> sub/b.py" in listed
    assert "sub/deep/c.txt  5 bytes" in listed
    assert ".git/  (not looked into; ask with all=true)" in listed
    assert ".git/config  1 bytes" in do("list_files", all=True).content
    assert "sub/deep/c.txt" not in do("list_files", recursive=False).content
    assert do("list_files", path="sub/deep").content == "sub/deep/c.txt  5 bytes"
    assert do("list_files", limit=2).content.count("\n") == 2
    assert "only the first 2" in do("list_files", limit=2).content


def test_an_edit_is_exact_and_unique(do: Do, workspace: Path) -> None:
    """How often it occurs is said where that is not once; places that overlap count."""
    (workspace / "t").write_text("aXa aXa\naaa\n")
    assert "occurs 2 times" in do("edit_file", path="t", old_text="aXa", new_text="b").content
    assert "occurs 2 times" in do("edit_file", path="t", old_text="aa", new_text="b").content
    assert "does not occur" in do("edit_file", path="t", old_text="zz", new_text="b").content
    assert "empty" in do("edit_file", path="t", old_text="", new_text="b").content
    assert "same" in do("edit_file", path="t", old_text="a", new_text="a").content
    assert (workspace / "t").read_text() == "aXa aXa\naaa\n"
    assert do("edit_file", path="t", old_text="aXa aXa", new_text="b").content.startswith(
        "Changed t from line 1"
    )
    assert (workspace / "t").read_text() == "b\naaa\n"


def test_an_edit_keeps_what_it_does_not_touch(do: Do, workspace: Path) -> None:
    """Bytes that are no UTF-8, Windows line ends, the mode, a link to the file."""
    path = workspace / "sub" / "b.py"
    path.write_bytes(b"caf\xe9\r\none\r\ntwo\r\n")
    path.chmod(0o750)
    assert not do("edit_file", path="inner", old_text="one\ntwo", new_text="1\n2").is_error
    assert path.read_bytes() == b"caf\xe9\r\n1\r\n2\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert (workspace / "inner").is_symlink()


def test_a_file_is_written_whole(do: Do, workspace: Path) -> None:
    """With the folders it needs, with nothing left beside it; a hard link elsewhere keeps the old text."""
    (workspace / "twin").hardlink_to(workspace / "a.txt")
    assert "new file of 3 bytes" in do("write_file", path="new/er/f.txt", content="hi\n").content
    assert (workspace / "new" / "er" / "f.txt").read_text() == "hi\n"
    assert not do("write_file", path="a.txt", content="other").is_error
    assert (workspace / "a.txt").read_text() == "other"
    assert (workspace / "twin").read_text() == "one\ntwo\nthree\n"
    assert not list(workspace.rglob(".*draft"))


def test_what_is_not_written(do: Do, workspace: Path) -> None:
    """Folders, git's own files, files that are read-only, more than the limit."""
    (workspace / "a.txt").chmod(0o444)
    for path, said in (
        ("sub", "folder"),
        (".git/hooks/pre-commit", "git"),
        ("a.txt", "read-only"),
        ("a.txt/x", "no"),
    ):
        result = do("write_file", path=path, content="x")
        assert result.is_error
        assert said in result.content
    assert "larger than" in do("write_file", path="big", content="x" * 8_000_001).content
    assert not (workspace / "big").exists()


def test_a_change_by_somebody_else_is_not_overwritten(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the write."""

    def slow(*given: Any) -> Change:
        change = plan_edit(*given)
        (workspace / "a.txt").write_text("somebody else's\n")
        return change

    monkeypatch.setattr("inspector.agent.tools.toolbox.plan_edit", slow)
    with Toolbox(workspace) as tools:
        result = tools.run(
            ToolCall("c", "edit_file", {"path": "a.txt", "old_text": "one", "new_text": "1"})
        ).result
    assert result is not None
    assert "changed by somebody else" in result.content
    assert (workspace / "a.txt").read_text() == "somebody else's\n"


def test_notes_are_peeked_at(workspace: Path) -> None:
    """Only inside, only what is there."""
    with Toolbox(workspace) as tools:
        assert tools.peek("a.txt", 3) == "one"
        assert (
            tools.peek("none") == tools.peek("up") == tools.peek("sub") == tools.peek("pipe") == ""
        )
