"""What the commands say of the bundled sample, word for word, so that a change is seen.

REWRITE_GOLDEN=1 pytest tests/cli/test_golden.py        takes today's answers for the right ones
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main as cli
from inspector.resources import resource

GOLDEN = Path(__file__).parent / "golden"
SAMPLE = resource("sample.jsonl")
DOCUMENTS = {
    "info": ["info"],
    "info-agent": ["info", "--thread", "b8d6b21"],
    "buffer-6": ["buffer", "--at", "6"],
    "buffer-79": ["buffer", "--at", "79"],
    "breakdown-6": ["breakdown", "--at", "6"],
    "calibrate-roku": ["calibrate", "--estimator", "roku"],
}
TABLES = {
    "info.txt": ["info"],
    "buffer-6.txt": ["buffer", "--at", "6"],
    "breakdown.txt": ["breakdown"],
}


def answer(capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
    assert cli.main([words[0], str(SAMPLE), *words[1:]]) == 0
    return capsys.readouterr().out.replace(str(SAMPLE), "sample.jsonl")


def compare(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        f"{name} differs; is the change wanted? see this module's doc"
    )


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents(capsys: pytest.CaptureFixture[str], name: str) -> None:
    document: Any = json.loads(answer(capsys, [*DOCUMENTS[name], "--json"]))
    compare(f"{name}.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("name", TABLES)
def test_tables(capsys: pytest.CaptureFixture[str], name: str) -> None:
    compare(name, answer(capsys, TABLES[name]))
