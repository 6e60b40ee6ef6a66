"""No path leads out of the workspace, whatever it is spelled like and whoever swaps things meanwhile."""

import os
import socket
import stat
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.agent.tools.common import Workspace
from inspector.agent.tools.toolbox import Toolbox
from inspector.core.errors import InspectorError
from inspector.core.message import ToolCall
from tests.agent.tools.conftest import SECRET, Do

OUT = [
    "../secret.txt",
    "..",
    "sub/../../secret.txt",
    "./sub/./../../secret.txt",
    "up",
    "away/secret.txt",
    "away",
    "everything/etc/passwd",
    "descriptors/0",
    "descriptors",
    "/etc/passwd",
    "/proc/self/environ",
    "/",
    "//etc/passwd",
    "sub/back/../../secret.txt",
]


@pytest.mark.parametrize("path", OUT)
def test_out_of_the_workspace(do: Do, workspace: Path, path: str) -> None:
    """ToolError with a sentence by every tool; nothing outside is read, listed or changed."""
    for name, more in (
        ("read_file", {}),
        ("list_files", {}),
        ("search_files", {"pattern": "."}),
        ("edit_file", {"old_text": SECRET, "new_text": "gone"}),
        ("write_file", {"content": "gone"}),
    ):
        result = do(name, path=path, **more)
        assert result.is_error
        assert result.content.endswith(".")
        assert SECRET not in result.content
    assert (workspace.parent / "secret.txt").read_text() == SECRET
    assert sorted(os.listdir(workspace.parent)) == ["outside", "secret.txt", "work"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.txt", "one\ntwo\nthree\n"),
        ("./sub//b.py", "value = 1\n"),
        ("inner", "value = 1\n"),
        ("absolute/b.py", "value = 1\n"),
        ("absolute/../a.txt", "one\ntwo\nthree\n"),
        ("sub/back", "one\ntwo\nthree\n"),
        ("sub/deep/../../a.txt", "one\ntwo\nthree\n"),
    ],
)
def test_links_inside_are_followed(do: Do, workspace: Path, path: str, text: str) -> None:
    """Links resolved, `..` taken from where the link led to; absolute paths count from the root of the disk."""
    assert do("read_file", path=path).content == text
    assert do("read_file", path=str(workspace / path)).content == text


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("loop", "circle"),
        ("nowhere", "no such file"),
        ("nowhere/../a.txt", "no such file"),
        ("a.txt/b", "no folder"),
        ("a.txt/..", "no folder"),
        ("sub", "folder"),
        ("pipe", "named pipe"),
        ("x\0y", "NUL"),
        ("x" * 300, "too long"),
        ("x/" * 3_000, "4,096 characters"),
        ("d/" * 250, "deeper"),
        ("\ud800", "spell"),
    ],
)
def test_what_cannot_be_read(do: Do, path: str, said: str) -> None:
    """A sentence that says why; a pipe is not waited for."""
    result = do("read_file", path=path)
    assert result.is_error
    assert said in result.content


def test_devices_and_sockets(do: Do, workspace: Path) -> None:
    """Are told, not opened."""
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(workspace, os.O_RDONLY)
        try:
            server.bind(f"/proc/self/fd/{here}/sock")
        finally:
            os.close(here)
        assert "a socket" in do("read_file", path="sock").content
    if os.getuid() == 0:
        os.mknod(workspace / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        assert "a device" in do("read_file", path="null").content
        assert do("write_file", path="null", content="x").is_error
    assert "named pipe" in do("write_file", path="pipe", content="x").content
    assert "named pipe" in do("list_files").content


def test_names_that_are_not_unicode(do: Do, workspace: Path) -> None:
    """Listed in a spelling that every provider takes; read by their own."""
    (workspace / os.fsdecode(b"bad\xff.txt")).write_text("odd\n")
    listed = do("list_files").content
    listed.encode("utf-8")
    assert "bad\\udcff.txt" in listed
    assert do("read_file", path="bad\udcff.txt").content == "odd\n"


def test_a_name_with_a_line_break_stays_on_its_line(do: Do, workspace: Path) -> None:
    """Or it could pass for another file."""
    (workspace / "x\nfake.txt  9 bytes").write_text("")
    assert "\nfake.txt" not in do("list_files").content


def test_the_workspace_must_be_a_folder(tmp_path: Path) -> None:
    """Told in one sentence."""
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "none"):
        with pytest.raises(InspectorError, match="not a folder"):
            Workspace(path)


def test_a_workspace_behind_a_link(workspace: Path, tmp_path: Path) -> None:
    """Absolute paths may be spelled either way."""
    os.symlink(workspace, tmp_path / "alias")
    with Toolbox(tmp_path / "alias") as tools:
        for path in ("a.txt", tmp_path / "alias" / "a.txt", workspace / "a.txt"):
            result = tools.run(ToolCall("c", "read_file", {"path": str(path)})).result
            assert result is not None
            assert not result.is_error


PARTS = st.sampled_from(
    [
        *(
            "..",
            ".",
            "",
            "sub",
            "deep",
            "a.txt",
            "b.py",
            "c.txt",
            "up",
            "away",
            "everything",
            "descriptors",
            "loop",
        ),
        *(
            "inner",
            "absolute",
            "back",
            "pipe",
            "secret.txt",
            "outside",
            "work",
            "etc",
            "passwd",
            "0",
            "\0",
            "é",
            "~",
        ),
        "\udcff",
    ]
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None
)
@given(parts=st.lists(PARTS, max_size=8), absolute=st.sampled_from(["", "/", "//", "work"]))
def test_no_path_leads_out(do: Do, workspace: Path, parts: list[str], absolute: str) -> None:
    """Whatever it is made of: what is read lies inside, and is what the system itself finds by that path."""
    path = "/".join(parts)
    path = f"{workspace}/{path}" if absolute == "work" else absolute + path
    result = do("read_file", path=path)
    assert SECRET not in result.content
    assert "root:" not in result.content
    if not result.is_error:
        true = (workspace / path).resolve(strict=True)
        assert true.is_relative_to(workspace)
        assert true.read_text() in (result.content, "")


def _swapping(one: Path, other: Path, over: threading.Event) -> None:
    """The two change names until it is over; for a moment neither has its own."""
    spare = one.with_name("spare")
    while not over.is_set():
        for _ in range(2):
            with suppress(OSError):
                one.rename(spare)
                other.rename(one)
                spare.rename(other)


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_link_swapped_in_meanwhile(do: Do, workspace: Path, what: str) -> None:
    """What is a link now was none a moment ago, and the other way round: nothing outside is read or written."""
    outside, real, link = workspace.parent / "outside", workspace / "real", workspace / "link"
    if what == "folder":
        real.mkdir()
        (real / "secret.txt").write_text("inside")
        link.symlink_to(outside)
    else:
        real.write_text("inside")
        link.symlink_to(outside / "secret.txt")
    path = "real/secret.txt" if what == "folder" else "real"
    over = threading.Event()
    thread = threading.Thread(target=_swapping, args=(real, link, over))
    thread.start()
    try:
        for _ in range(300):
            assert SECRET not in do("read_file", path=path).content
            do("edit_file", path=path, old_text=SECRET, new_text="gone")
            if what == "file":
                do("write_file", path=path, content="inside")
    finally:
        over.set()
        thread.join()
    assert (outside / "secret.txt").read_text() == SECRET
    assert os.listdir(outside) == ["secret.txt"]


def test_no_descriptor_is_left_open(do: Do) -> None:
    """However a call ends."""
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    for path in [*OUT, "loop", "pipe", "a.txt", "sub/deep/c.txt"]:
        for name, more in (
            ("read_file", {}),
            ("list_files", {}),
            ("search_files", {"pattern": "("}),
        ):
            do(name, path=path, **more)
        do("write_file", path=f"{path}/x", content="")
    assert len(os.listdir("/proc/self/fd") if before else []) == len(before)
