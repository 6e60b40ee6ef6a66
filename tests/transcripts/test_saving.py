"""Saving: whole or not at all, never over a file unasked, never over the transcript itself."""

import os
from pathlib import Path

import pytest

from inspector.core.errors import InspectorError
from inspector.core.jsontext import loads
from inspector.transcripts.files import open_transcript
from inspector.transcripts.saving import NATIVE, SHAPES, buffer_text, can_be_native, save_text
from tests.core.policies.build import build


def test_a_file_is_written_whole_and_replaced_only_when_told(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    save_text("文件\n", str(path), force=False)
    assert path.read_text("utf-8") == "文件\n"
    with pytest.raises(InspectorError, match="exists"):
        save_text("again", str(path), force=False)
    save_text("again", str(path), force=True)
    assert path.read_text("utf-8") == "again"
    assert os.listdir(tmp_path) == ["out.json"], "no draft is left"


def test_the_transcript_itself_is_never_overwritten(tmp_path: Path) -> None:
    path, link = tmp_path / "session.jsonl", tmp_path / "link.jsonl"
    path.write_text("the agent's", "utf-8")
    link.symlink_to(path)
    for target in (path, link, tmp_path / "." / "session.jsonl"):
        with pytest.raises(InspectorError, match="never overwritten"):
            save_text("ours", str(target), force=True, source=str(path))
    assert path.read_text("utf-8") == "the agent's"
    save_text("ours", str(tmp_path / "other.jsonl"), force=False, source=str(path))


def test_a_failure_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(InspectorError, match="folder cannot be written: Is a directory"):
        save_text("text", str(path), force=True)
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("format_", ["claude-code", "codex", "pi"])
def test_a_buffer_is_written_in_every_shape_and_opens_again(
    tmp_path: Path, shape: str, format_: str
) -> None:
    buffer = build(3, "a result")
    path = tmp_path / "made.jsonl"
    save_text(buffer_text(buffer, shape, format_, "claude-opus-4-5"), str(path), force=False)
    opened = open_transcript(str(path))
    assert (opened.format == format_) == (shape == NATIVE)
    texts = [part for message in opened.main.end.messages() for part in message.parts]
    assert len(opened.main.end.messages()) == len(buffer.messages)
    assert texts
    if shape != NATIVE:
        assert loads(path.read_bytes())["model"] == "claude-opus-4-5"


def test_what_cannot_be_written_natively_says_so() -> None:
    assert can_be_native("pi")
    assert not can_be_native("anthropic-payload")
    with pytest.raises(InspectorError, match="cannot be written"):
        buffer_text(build(1, "x"), NATIVE, "anthropic-payload", "m")
