"""What docs/cli.md shows is what the program prints. A line `...` stands for any number of lines."""

import io
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from inspector.cli import main as cli
from inspector.resources import resource

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "cli.md"
EXAMPLES = re.findall(
    r"```console\n\$ (?:echo \"(.*)\" \| )?context-inspector (.*)\n((?:.*\n)*?)```",
    PAGE.read_text(encoding="utf-8"),
)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize(("typed", "words", "shown"), EXAMPLES)
def test_an_example(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    words: str,
    shown: str,
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{typed}\n".encode())))
    sample = str(resource("sample.jsonl"))
    assert cli.main([sample if word == "sample.jsonl" else word for word in words.split()]) == 0
    printed = capsys.readouterr().out.replace(sample, "sample.jsonl")
    pattern = re.sub(r"([\[\]?*])", r"[\1]", shown).replace("...\n", "*")
    assert fnmatchcase(printed, pattern), printed
