"""The hands of a tier: nothing is read outside the workspace, nothing is ever overwritten."""

import json
import os
import stat
from pathlib import Path

import pytest

from inspector.agent.workspace import WorkspaceAnswerer, read_inside, saved_path
from inspector.core.answering import offline
from inspector.core.needs import (
    Answer,
    Need,
    ProviderFailure,
    ReadFile,
    SaveText,
    SaveTranscript,
    Summarize,
)
from tests.core.policies.build import assistant, result, user


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace beside a secret."""
    (tmp_path / "secret.txt").write_text("secret")
    inside = tmp_path / "work"
    (inside / "src").mkdir(parents=True)
    (inside / "src" / "a.py").write_text("print('中')\n", encoding="utf-8")
    return inside


def test_a_file_inside_is_read_up_to_the_limit(root: Path) -> None:
    assert read_inside(root, "src/a.py") == "print('中')\n"
    assert read_inside(root, str(root / "src" / "a.py"), 8) == "print('中"
    assert read_inside(root, "src/../src/a.py", 0) == ""
    (root / "bin").write_bytes(b"\xff\xfe\x00")
    assert read_inside(root, "bin") == "\ufffd\ufffd\x00"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "nope",
        "src",
        "",
        "a\0b",
        "x" * 5000,
        "loop",
        "out",
        "deep/secret.txt",
        "~/x",
        "pipe",
    ],
)
def test_nothing_else_is_read(root: Path, path: str) -> None:
    (root / "loop").symlink_to(root / "loop")
    (root / "out").symlink_to(root.parent / "secret.txt")
    (root / "deep").symlink_to(root.parent)
    os.mkfifo(root / "pipe")
    with pytest.raises(ProviderFailure) as failure:
        read_inside(root, path)
    assert "secret" not in str(failure.value).replace("secret.txt", "")


def test_an_absolute_path_outside_is_refused(root: Path) -> None:
    with pytest.raises(ProviderFailure, match="outside") as failure:
        read_inside(root, str(root.parent / "secret.txt"))
    assert failure.value.kind == "refused"


def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    (root / "link").symlink_to(root / "src" / "a.py")
    assert read_inside(root, "link", 5) == "print"


def nobody(need: Need) -> Answer:
    raise ProviderFailure(f"asked for {type(need).__name__}")


def test_saved_transcripts_when_compacted_twice_follow_each_other(
    root: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    answer = WorkspaceAnswerer(nobody, root, folder)
    one = (user("q1"), assistant("", ("c", "ls", {})), result("c", "out"))
    first = answer(SaveTranscript(one)).text
    second = answer(SaveTranscript((*one, user("中"))))
    assert second.text == first
    lines = [json.loads(line) for line in Path(first).read_text("utf-8").splitlines()]
    assert len(lines) == 7
    assert lines[:3] == lines[3:6]
    assert lines[0] == {"role": "user", "content": "q1"}
    assert lines[2]["content"][0]["type"] == "tool_result"
    assert lines[6] == {"role": "user", "content": "中"}


def test_every_answerer_and_every_name_has_files_of_its_own(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    paths = [
        WorkspaceAnswerer(nobody, root, folder)(SaveTranscript((user("q"),))).text for _ in range(3)
    ]
    answer = WorkspaceAnswerer(nobody, root, folder)
    paths += [answer(SaveText("out", "output")).text for _ in range(3)]
    paths.append(answer(SaveTranscript((user("q"),), "subagent-../../x y")).text)
    assert len(set(paths)) == len(paths) == len(list(folder.iterdir()))
    assert Path(paths[-1]).parent == folder
    assert Path(paths[3]).read_text() == "out"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(Path(path).stat().st_mode) == 0o600 for path in paths)


def test_a_disk_that_refuses_is_a_failure(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for need in (SaveTranscript((user("q"),)), SaveText("x")):
        with pytest.raises(ProviderFailure, match="saved"):
            WorkspaceAnswerer(nobody, root, tmp_path / "file" / "under")(need)


def test_what_hands_cannot_do_is_asked_on(root: Path) -> None:
    with pytest.raises(ProviderFailure, match="Summarize"):
        WorkspaceAnswerer(nobody, root)(Summarize("", ""))
    assert WorkspaceAnswerer(offline, root)(Summarize("", "User: hi")).by == "offline"


def test_without_a_workspace_a_file_is_what_was_recorded() -> None:
    answer = WorkspaceAnswerer(nobody, None)
    assert answer(ReadFile("/etc/passwd", 3, "root")).text == "roo"
    with pytest.raises(ProviderFailure):
        answer(ReadFile("/etc/passwd", 3))


def test_the_folder_follows_the_xdg_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert saved_path() == tmp_path / "context-inspector" / "saved"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert saved_path() == tmp_path / ".local" / "share" / "context-inspector" / "saved"


def test_stopping_reaches_the_one_who_answers() -> None:
    stopped = []

    class Slow:
        def __call__(self, need: Need) -> Answer:
            return Answer()

        def cancel(self) -> None:
            stopped.append(True)

    for answer in (WorkspaceAnswerer(Slow(), None), WorkspaceAnswerer(nobody, None)):
        answer.cancel()
    assert stopped == [True]
