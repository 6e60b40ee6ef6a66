"""What is lost and needed again on real sessions, against labels given by reading each fact in its place.

A label is kept by hash, never by text: sha256 of file, thread, request after the compaction, kind and text, one a line,
and for a need its request and message. `fresh` were drawn when the rules were made, `tuning` before; how is told in
docs/regret.md. What the rules do not find any more is not asked for. Sentences (instructions, constraints, decisions)
are labelled wherever they stand, lost or not: sha256 of file, thread, message, kind and text.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from inspector.core.errors import InspectorError
from inspector.core.facts.reading import facts
from inspector.core.findings.lost import CompactionLoss, lost_by_compactions
from inspector.core.findings.lost_rows import LostRow, NeededAgain
from inspector.core.session import Session
from inspector.transcripts.files import open_transcript
from tests.shared import ARE_REAL, TRANSCRIPTS, transcripts

if not ARE_REAL:
    pytest.skip(
        "judged on real transcripts, which are not on this machine", allow_module_level=True
    )

LABELS = Path(__file__).parent / "data" / "lost" / "labels.tsv"
FACTS = LABELS.with_name("facts.tsv")
FOLDERS = ("claude-code", "clients", "codex", "derived-merged", "openclaw")


def sessions(folders: Iterable[str] = FOLDERS) -> Iterator[tuple[str, Session]]:
    for folder in folders:
        for path in transcripts(f"{folder}/**/*"):
            if path.is_file() and TRANSCRIPTS:
                try:
                    yield str(path.relative_to(TRANSCRIPTS)), open_transcript(path)
                except InspectorError:
                    continue


def key(file: str, one: CompactionLoss, row: LostRow, use: NeededAgain | None = None) -> str:
    parts = [file, one.thread, one.before_request, row.fact.kind, row.fact.text]
    parts += [use.request, use.message] if use else []
    return sha256("\n".join(map(str, parts)).encode()).hexdigest()


def test_what_is_called_lost_and_needed_is() -> None:
    found: dict[str, str] = {}
    for file, session in sessions():
        for thread in session.threads:
            for one in lost_by_compactions(session, thread):
                assert one.before == one.kept + one.paraphrased + one.lost
                for row in one.rows:
                    found |= {key(file, one, row): "lost"} if row.fate == "lost" else {}
                    found |= {key(file, one, row, use): "needed" for use in row.needed}
    labels = list(_lines(LABELS))
    assert len(labels) >= 300
    for what in ("lost", "needed"):
        for samples in (("fresh",), ("fresh", "tuning")):
            judged = [
                true == "yes"
                for name, sample, kind, true in labels
                if sample in samples and found.get(name) == what == kind
            ]
            assert len(judged) >= 100, (what, samples)
            assert sum(judged) >= 0.9 * len(judged), (what, samples, sum(judged), len(judged))


def test_what_is_called_an_instruction_or_a_constraint_is() -> None:
    labels = {name: (sample, kind, true == "yes") for name, sample, kind, true in _lines(FACTS)}
    judged: dict[str, tuple[str, str, bool]] = {}
    for file, session in sessions(["*"]):
        for thread in session.threads:
            for message in thread.messages:
                for fact in facts(message):
                    told = [file, thread.id, message.id, fact.kind, fact.text]
                    name = sha256("\n".join(told).encode()).hexdigest()
                    judged |= {name: labels[name]} if name in labels else {}
    for kind, samples, least in (
        ("instruction", ("fresh",), 75),
        ("instruction", ("fresh", "tuning"), 150),
        ("constraint", ("tuning",), 39),
    ):
        found = [
            true for sample, what, true in judged.values() if what == kind and sample in samples
        ]
        assert len(found) >= least, (kind, samples, len(found))
        assert sum(found) >= 0.9 * len(found), (kind, samples, sum(found), len(found))


def _lines(path: Path) -> Iterator[list[str]]:
    return (line.split("\t") for line in path.read_text("utf-8").splitlines())
