"""A workspace with all that should be refused in it, and a secret beside it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector.agent.tools.common import ToolLimits
from inspector.agent.tools.toolbox import Toolbox
from inspector.core.message import ToolCall, ToolResult

SECRET = "this must never be seen"
Do = Callable[..., ToolResult]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """`work`, with a folder and files; `secret.txt` lies beside it."""
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    work = tmp_path / "work"
    (work / "sub" / "deep").mkdir(parents=True)
    (work / "a.txt").write_text("one\ntwo\nthree\n")
    (work / "sub" / "b.py").write_text("value = 1\n")
    (work / "sub" / "deep" / "c.txt").write_text("deep\n")
    os.symlink("../secret.txt", work / "up")
    os.symlink(tmp_path / "outside", work / "away")
    os.symlink("/proc/self/fd", work / "descriptors")
    os.symlink("/", work / "everything")
    os.symlink("loop", work / "loop")
    os.symlink("sub/b.py", work / "inner")
    os.symlink(work / "sub", work / "absolute")
    os.symlink("../a.txt", work / "sub" / "back")
    os.mkfifo(work / "pipe")
    return work


@pytest.fixture
def do(workspace: Path) -> Iterator[Do]:
    """Run a tool, get its result."""
    with Toolbox(workspace, ToolLimits(look_s=5.0)) as tools:

        def run(name: str, **arguments: Any) -> ToolResult:
            result = tools.run(ToolCall("call", name, arguments)).result
            assert result is not None
            return result

        yield run
