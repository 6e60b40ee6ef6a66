"""Files and folders with many sessions: which there are, and each of them opened by its name or its number."""

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from inspector.cli.main import main
from inspector.core.errors import NothingToRead, UnknownFormat
from inspector.resources import resource
from inspector.transcripts.files import find_session_path, open_transcript
from inspector.transcripts.unpack import find_files

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def line(text: str) -> str:
    """A record of Claude Code."""
    said = {"role": "user", "content": text}
    return (
        json.dumps(
            {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s", "message": said}
        )
        + "\n"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "logs"
    (place / "sub").mkdir(parents=True)
    (place / "notes.json").write_text('{"no": "transcript"}')
    (place / "a.jsonl").write_text(line("first"))
    (place / "sub" / "b.jsonl").write_text(line("second"))
    return place


@pytest.fixture
def archive(folder: Path) -> Path:
    path = folder.parent / "logs.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for one in ("notes.json", "a.jsonl", "sub/b.jsonl"):
            made.write(folder / one, f"logs/{one}")
        made.writestr("__MACOSX/logs/._a.jsonl", b"\0\0")
    return path


def test_a_folder_opens_one_and_names_the_others(folder: Path) -> None:
    opened = open_transcript(folder)
    assert {one.id for one in opened.held} == {"a.jsonl", "sub/b.jsonl", "notes.json"}
    assert {
        open_transcript(one.path).main.messages[0].text
        for one in opened.held
        if one.id != "notes.json"
    } == {
        "first",
        "second",
    }
    assert open_transcript(find_session_path(folder, "sub/b.jsonl")).path == str(
        folder / "sub" / "b.jsonl"
    )
    assert open_transcript(f"{folder}#sub/b.jsonl").main.messages[0].text == "second"
    with pytest.raises(NothingToRead, match="holds no file"):
        find_session_path(folder, "c.jsonl")


def test_folders_that_go_away_while_they_are_listed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an agent that is at work, say: the others are there."""
    (folder / "gone").mkdir()
    known = os.scandir

    def scan(path: Any) -> Any:
        if str(path).endswith("gone"):
            raise FileNotFoundError(path)
        return known(path)

    monkeypatch.setattr(os, "scandir", scan)
    assert {one.id for one in open_transcript(folder).held} == {
        "a.jsonl",
        "sub/b.jsonl",
        "notes.json",
    }
    assert list(find_files(folder, "gone/*")) == []
    assert [one.name for one in find_files(folder, "*.jsonl")] == ["a.jsonl"]


def test_a_folder_without_any(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(NothingToRead, match="folder without a transcript"):
        open_transcript(tmp_path)


def test_a_zipped_folder_opens_the_same_way(archive: Path) -> None:
    opened = open_transcript(archive)
    assert [one.id for one in opened.held] == [
        "logs/notes.json",
        "logs/a.jsonl",
        "logs/sub/b.jsonl",
    ]
    assert opened.main.messages[0].text == "first"
    assert open_transcript(opened.held[2].path).main.messages[0].text == "second"
    assert open_transcript(find_session_path(archive, "2")).main.messages[0].text == "second"
    with pytest.raises(NothingToRead, match="'9'"):
        open_transcript(find_session_path(archive, "9"))


def test_records_in_a_list_are_read_as_lines(folder: Path) -> None:
    records = [json.loads(one) for one in (folder / "a.jsonl").read_text().splitlines()]
    path = folder / "list.json"
    for indent in (None, 1):
        path.write_text(json.dumps(records, indent=indent))
        listed, lines = open_transcript(path), open_transcript(folder / "a.jsonl")
        assert listed.format == lines.format
        assert [one.parts for one in listed.main.end] == [one.parts for one in lines.main.end]
    path.write_text(json.dumps([{"no": "transcript"}]))
    with pytest.raises(UnknownFormat, match="unrecognised file format"):
        open_transcript(path)


def test_a_zipped_file_of_many_sessions_opens_each(tmp_path: Path) -> None:
    rows = [
        {"task_id": n, "reward": 1, "traj": [{"role": "user", "content": f"task {n}"}]}
        for n in range(3)
    ]
    one, two = tmp_path / "one.zip", tmp_path / "two.zip"
    for path, names in ((one, ["results.json"]), (two, ["results.json", "again.json"])):
        with zipfile.ZipFile(path, "w") as made:
            for name in names:
                made.writestr(name, json.dumps(rows))
    opened = open_transcript(one)
    assert len(opened.held) == 3
    assert [open_transcript(each.path).main.messages[0].text for each in opened.held] == [
        "task 0",
        "task 1",
        "task 2",
    ]
    assert [each.id for each in open_transcript(two).held] == ["results.json", "again.json"]
    inner = open_transcript(open_transcript(two).held[1].path)
    assert [open_transcript(each.path).main.messages[0].text for each in inner.held] == [
        "task 0",
        "task 1",
        "task 2",
    ]
    with pytest.raises(NothingToRead, match=r"holds no session 'again\.json#x'"):
        open_transcript(f"{two}#again.json#x")


def test_what_cannot_be_read_in_an_archive_says_what_helps(tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("a.db", b"SQLite format 3\0" + bytes(90))
    with pytest.raises(NothingToRead, match="unpack it to read its databases"):
        open_transcript(path)
    with pytest.raises(NothingToRead, match=r"a\.db is a database; unpack it"):
        open_transcript(f"{path}#a.db")


def test_notes_beside_a_transcript_are_not_listed(folder: Path) -> None:
    (folder / "agent-1.meta.json").write_text('{"agentType": "x"}')
    assert {one.id for one in open_transcript(folder).held} == {
        "a.jsonl",
        "sub/b.jsonl",
        "notes.json",
    }


@pytest.mark.parametrize("where", ["name", "listed name", "what LZMA packed"])
def test_damage_anywhere_in_an_archive_is_told(tmp_path: Path, where: str) -> None:
    """Names are no longer UTF-8, in front of the file or in the list of all."""
    path, name = tmp_path / "damaged.zip", "ä.jsonl".encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        file.writestr(name.decode(), resource("sample.jsonl").read_bytes())
    data = path.read_bytes()
    at = {"name": data.find(name), "listed name": data.rfind(name)}.get(where, len(data) // 2)
    path.write_bytes(data[:at] + b"\xff\xff" + data[at + 2 :])
    with pytest.raises(NothingToRead, match=r"cannot be unpacked|archive without a transcript"):
        open_transcript(path)


def test_a_damaged_archive_is_a_sentence(archive: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.zip"
    broken.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises(NothingToRead, match="cannot be unpacked"):
        open_transcript(broken)


def test_a_file_with_one_session_has_no_other(folder: Path) -> None:
    with pytest.raises(NothingToRead, match="one session"):
        open_transcript(find_session_path(folder / "a.jsonl", "1"))


def test_info_lists_them_and_chooses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(folder), "--session", "a.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"].endswith("a.jsonl")
    assert main(["info", str(folder), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["sessions"]) == 3


def test_a_wrong_format_is_a_sentence(folder: Path, tmp_path: Path) -> None:
    """Not an empty session, and not one of pieces that nobody can read."""
    items = tmp_path / "events.json"
    items.write_text(json.dumps([{"id": 0, "type": "started", "source": "x"}]))
    for path, name in (
        (folder / "a.jsonl", "openai-responses"),
        (items, "openai-responses"),
        (items, "codex"),
    ):
        with pytest.raises(UnknownFormat, match="nothing in it can be read as"):
            open_transcript(path, format=name)
    with pytest.raises(UnknownFormat, match="unrecognised file format"):
        open_transcript(items)


def test_the_log_of_one_call_holds_its_buffer(tmp_path: Path) -> None:
    """Request and response in one object: messages and tools are the buffer, the usage is the response's."""
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    answer = {"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
    response = {
        "choices": [answer],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3},
        "model": "m-1",
    }
    path = tmp_path / "call.json"
    path.write_text(
        json.dumps(
            {"messages": BODY["messages"], "tools": [tool], "cost": 0.1, "response": response}
        )
    )
    (request,) = open_transcript(path).main.requests
    assert [message.text for message in request.view] == ["hi"]
    assert request.prompt.tools is not None
    assert [one.name for one in request.prompt.tools] == ["f"]
    assert request.usage is not None
    assert (request.usage.prompt, request.usage.output) == (12, 3)
    assert [message.text for message in open_transcript(path).main.end] == ["hi", "yes"]
