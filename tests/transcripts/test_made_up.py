"""The made-up transcripts that stand in for real ones on a machine that has none."""

from pathlib import Path

from inspector.core.formats.detect import FORMATS
from inspector.transcripts.files import open_transcript
from tests.shared import lay_out


def test_made_up_transcripts_when_opened_are_of_every_format(tmp_path: Path) -> None:
    lay_out(tmp_path)
    sessions = [open_transcript(path) for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    assert {session.format for session in sessions} == {known.name for known in FORMATS}
    assert all(session.main.requests for session in sessions)
    assert not any(session.problems for session in sessions)
