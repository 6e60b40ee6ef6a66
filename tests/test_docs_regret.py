"""The example in docs/regret.md is what the program prints."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from inspector.cli import main as cli
from inspector.resources import resource

PAGE = Path(__file__).resolve().parent.parent / "docs" / "regret.md"


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = re.findall(
        r"```console\n\$ context-inspector (.*)\n((?:.*\n)*?)```", PAGE.read_text("utf-8")
    )
    words, shown = found
    sample = str(resource("sample.jsonl"))
    assert cli.main([sample if word == "sample.jsonl" else word for word in words.split()]) == 0
    printed = capsys.readouterr().out
    assert fnmatchcase(printed, re.sub(r"([\[\]?*])", r"[\1]", shown).replace("...\n", "*")), (
        printed
    )
    text = PAGE.read_text("utf-8")
    for figure in ("914", "822", "1,640"):
        assert figure in printed
        assert text.count(figure) >= 2
