"""Every command says of a file that begins in the middle that it does."""

from pathlib import Path

import pytest

from inspector.cli import main as cli
from inspector.cli.follow import RequestPrinter
from inspector.core.session import BEGINS_LATE
from inspector.transcripts.files import open_transcript
from tests.core.formats.feeding import DATA

LATE, WHOLE = DATA / "claude_code" / "suffix.jsonl", DATA / "claude_code" / "plain.jsonl"
COMMANDS = (
    ("info",),
    ("buffer",),
    ("breakdown",),
    ("calibrate",),
    ("cost",),
    ("lost",),
    ("pins",),
    ("replay",),
    ("step", "--tier", "L1"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=[words[0] for words in COMMANDS])
@pytest.mark.parametrize("json", [(), ("--json",)], ids=["text", "json"])
def test_a_command_when_the_file_begins_in_the_middle_says_so(
    words: tuple[str, ...], json: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for path, is_late in ((LATE, True), (WHOLE, False)):
        assert cli.main([words[0], str(path), *words[1:], *json]) == 0
        assert (BEGINS_LATE in capsys.readouterr().err) is is_late


def test_follow_when_the_file_begins_in_the_middle_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RequestPrinter(json=False, everything=False, window=None).take(open_transcript(LATE))
    assert BEGINS_LATE in capsys.readouterr().err
