"""A bundle opens as the session that it was made of, whatever wrote it, and discloses nothing that was replaced."""

import gzip
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.__main__ import main
from inspector.core.dialects.neutral import write_message
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.session import Session, SharedWork
from inspector.resources import resource
from inspector.transcripts.binary_values import mark_bytes, unmark_bytes
from inspector.transcripts.bundle import MANIFEST, RECORDS
from inspector.transcripts.files import open_transcript, whole_exchanges
from inspector.workbench.sharing.bundle import draft_bundle
from inspector.workbench.sharing.redaction import PrivateTexts, Redaction
from inspector.workbench.state import State
from tests.shared import lay_out

SAMPLE = resource("sample.jsonl")
KEY = "sk-ant-api03-" + "Ab3dEf6hIj9k" * 4
USER = b'{"line":1,"value":{"type":"user","uuid":"u","message":{"role":"user","content":"hello"}}}'
Capture = pytest.CaptureFixture[str]


def describe_session(session: Session) -> Iterator[object]:
    """Yield everything that a session says, but where it was read from."""
    yield session.format, session.client, session.policy, session.id
    yield from map(repr, session.side_calls)
    yield from map(repr, session.signs)
    for thread in session.threads:
        yield thread.id, thread.model, thread.title
        yield from map(repr, thread.compactions)
        for request in thread.requests:
            yield request.model, request.usage, request.line, request.time
            yield [write_message(message) for message in request.buffer().messages]
        yield [write_message(message) for message in thread.messages]


def pack(session: Session, path: Path, work: SharedWork | None = None) -> Session:
    """Write a bundle with nothing replaced, and open it."""
    draft = draft_bundle(session, work or SharedWork())
    path.write_bytes(draft.pack(Redaction(())).data)
    return open_transcript(path)


def test_bundle_of_every_format_opens_as_the_same_session(tmp_path: Path) -> None:
    lay_out(tmp_path / "all")
    formats = set()
    for path in sorted((tmp_path / "all").rglob("*")):
        if not path.is_file():
            continue
        session = open_transcript(path)
        again = pack(session, tmp_path / "s.ctx")
        assert list(describe_session(again)) == list(describe_session(session)), path
        twice = pack(again, tmp_path / "t.ctx")
        assert list(describe_session(twice)) == list(describe_session(session)), path
        formats.add(session.format)
    assert len(formats) > 35


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """The sample, whose first message holds a key, an address and a path of somebody's home."""
    path = tmp_path / "s.jsonl"
    private = f"mail jane.doe@example.org, key {KEY}, file /home/janedoe/x.py. "
    path.write_text(SAMPLE.read_text("utf-8").replace("Morning! ", private, 1), "utf-8")
    return path


def test_bundle_without_a_review_is_not_written_and_holds_nothing_private(
    transcript: Path, tmp_path: Path, capsys: Capture
) -> None:
    output = tmp_path / "s.ctx"
    words = ["bundle", str(transcript), "-o", str(output), "--pin", "ask janedoe"]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert "line 3" in out
    assert "(e-mail)" in out
    assert KEY not in out
    assert "--redact all" in err
    assert not output.exists()

    assert main([*words, "--note", "Look at request 79.", "--redact", "all"]) == 0
    with zipfile.ZipFile(output) as archive:
        whole = b"".join(map(archive.read, archive.namelist()))
    for private in (KEY, "jane.doe", "janedoe", str(transcript.parent)):
        assert private.encode() not in whole
    assert transcript.stat().st_size < 8 * len(whole)

    capsys.readouterr()
    assert main(["info", str(output), "--json"]) == 0
    assert "Look at request 79." in str(json.loads(capsys.readouterr().out)["notes"])
    assert main(["pins", str(output), "--json"]) == 0
    pins = json.loads(capsys.readouterr().out)["pins"]
    assert "ask (home folder)" in [pin["text"] for pin in pins if pin["found"] == "given"]
    assert main(words) == 1
    assert "--force" in capsys.readouterr().err


def test_saved_steps_in_a_bundle_start_from_the_redacted_buffer(
    transcript: Path, tmp_path: Path, capsys: Capture
) -> None:
    from inspector.workbench.sharing.shared_steps import restore_shared_steps

    steps, output = tmp_path / "steps.json", tmp_path / "s.ctx"
    made = ["step", str(transcript), "--at", "79", "--tier", "L3b", "--save-steps", str(steps)]
    assert main(made) == 0
    words = ["bundle", str(transcript), "-o", str(output), "--steps", str(steps)]
    assert main([*words, "--redact", "all"]) == 0
    assert "left out" not in capsys.readouterr().err
    restored = restore_shared_steps(open_transcript(output))
    assert restored is not None
    (tree,) = restored.trees.values()
    assert [step.tier for step in tree.taken if step.recorded is None] == ["L3b"]


def test_steps_of_a_bundle_that_cannot_be_run_are_named_when_it_is_opened(tmp_path: Path) -> None:
    from inspector.workbench.kept_steps import restore_steps
    from inspector.workbench.sharing.shared_steps import restore_shared_steps

    session = open_transcript(resource("sample.jsonl"))
    strange = {"policy": "roku", "start": {"thread": "other", "request": 3}}
    session = replace(session, shared=SharedWork(steps=(strange,)))
    restored = restore_shared_steps(session)
    assert restored is not None
    assert not restored.trees
    opened = restore_steps(State(session=session), restored, stays=False)
    assert opened.note.startswith("Steps of sample.jsonl were left out: ")
    assert opened.trees == State().trees


def test_exchanges_of_a_recording_are_read_from_its_bundle(tmp_path: Path) -> None:
    recording = Path(__file__).parents[2] / "data" / "proxy" / "recording.jsonl"
    session = pack(open_transcript(recording), tmp_path / "r.ctx")
    before, after = list(whole_exchanges(recording)), list(whole_exchanges(session.path))
    assert [one.line for one in after] == [one.line for one in before]


def test_private_text_in_a_packed_body_is_found_and_replaced() -> None:
    body = {"body": gzip.compress(b"Write to jane.doe@example.org."), "other": b"\xff\x00"}
    private = PrivateTexts()
    private.add_value("line 1", dumps(mark_bytes(body)))
    assert [one.text for one in private.found] == ["jane.doe@example.org"]
    value = unmark_bytes(Redaction(private.found).replace_in_value(mark_bytes(body)))
    assert gzip.decompress(value["body"]) == b"Write to (e-mail)."
    assert value["other"] == b""


def write_zip(path: Path, manifest: object, records: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(manifest))
        archive.writestr(RECORDS, records)
        archive.writestr("../../escape.jsonl", b"{}")
    return path


def test_damaged_bundles_end_in_one_sentence(tmp_path: Path) -> None:
    kind = {"kind": "context-inspector bundle", "version": 1, "format": "claude-code"}
    cases = [
        ([], b"{}"),
        ({"kind": "other"}, b"{}"),
        ({**kind, "version": 2}, b"{}"),
        ({**kind, "format": "nothing"}, b"{}"),
        ({**kind, "format": 7, "pins": 3, "steps": {"a": 1}}, b"\xff\n[]\n"),
        (kind, b""),
        (kind, b"not json\n"),
    ]
    for manifest, records in cases:
        path = write_zip(tmp_path / "x.ctx", manifest, records)
        with pytest.raises(InspectorError):
            open_transcript(path)
    odd = b'[1]\n{"line":"a","value":3,"file":[]}\n%s\n' % (3 * (USER + b"\n"))
    open_transcript(write_zip(tmp_path / "x.ctx", {**kind, "pins": [1, "a"], "steps": [1]}, odd))
    assert [path.name for path in tmp_path.iterdir()] == ["x.ctx"]


def test_bundle_that_unpacks_to_many_times_its_size_is_read_up_to_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.transcripts.unpack._PLENTY", 1 << 20)
    kind = {"kind": "context-inspector bundle", "version": 1, "format": "claude-code"}
    path = write_zip(tmp_path / "x.ctx", kind, USER + b"\n" + b" " * (64 << 20) + b"\n")
    session = open_transcript(path)
    assert any("times its size" in problem.what for problem in session.problems)
