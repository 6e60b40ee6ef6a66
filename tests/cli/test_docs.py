"""What docs/cli.md and docs/pins.md show is what the program prints. A line `...` stands for any number of lines."""

import io
import re
import shlex
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from inspector.cli import main as cli
from inspector.resources import resource

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
EXAMPLES = re.findall(
    r"```console\n\$ (?:echo \"(.*)\" \| )?context-inspector (.*)\n((?:.*\n)*?)```",
    "".join((DOCS / name).read_text(encoding="utf-8") for name in ("cli.md", "pins.md")),
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
    assert (
        cli.main([sample if word == "sample.jsonl" else word for word in shlex.split(words)]) == 0
    )
    printed = capsys.readouterr().out.replace(sample, "sample.jsonl")
    pattern = re.sub(r"([\[\]?*])", r"[\1]", shown).replace("...\n", "*")
    assert fnmatchcase(printed, pattern), printed
