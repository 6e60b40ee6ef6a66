"""Files that begin in the middle: the session says so, of the thread that it is true of."""

from collections.abc import Sequence

import pytest

from inspector.core.session import BEGINS_LATE
from tests.core.formats.samples import Fed, read, samples

CUT = {
    "claude-code: claude_code/plain.jsonl": 2,
    "codex: codex/turns.jsonl": 2,
    "pi: pi/v3-tree.jsonl": 3,
    "gemini-cli: log": 3,
    "qwen-code: lines": 2,
    "copilot-cli: events": 2,
    "openclaw: session": 3,
}
"""So many records are missing at the beginning of a sample."""
SAMPLES = {f"{sample.format}: {sample.name}": sample for sample in samples()}


def of_one_file(fed: Sequence[Fed]) -> list[Fed]:
    return [value for value in fed if not value[2]]


@pytest.mark.parametrize("name", CUT)
def test_a_file_without_its_beginning_when_read_says_so(name: str) -> None:
    sample = SAMPLES[name]
    session = read(sample.format, of_one_file(sample.fed)[CUT[name] :])
    assert session.main.begins_late
    assert BEGINS_LATE in session.notes


@pytest.mark.parametrize("name", SAMPLES)
def test_a_whole_file_when_read_does_not_say_that_it_begins_in_the_middle(name: str) -> None:
    session = SAMPLES[name].read()
    assert session.begins_late is name.endswith("suffix.jsonl")
