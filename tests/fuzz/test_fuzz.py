"""A thousand damaged files, the same ones every time. `make fuzz` goes on from there."""

from pathlib import Path

import pytest

from inspector.transcripts import stores
from inspector.transcripts.files import open_transcript
from tests.fuzz.samples import samples
from tests.fuzz.trial import Trials

INPUTS, BATCHES = 1000, 10


@pytest.mark.parametrize("batch", range(BATCHES))
def test_nothing_falls_over(batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stores, "_REST", 0.0)  # a database that is damaged is tried again and again
    trials = Trials(samples(tmp_path), tmp_path)
    found = [
        str(one) for number in range(batch, INPUTS, BATCHES) for one in trials.failures(number)
    ]
    assert not found, "\n".join(found)


def test_every_sample_opens_undamaged(tmp_path: Path) -> None:
    """Else the mutations would try the same sentence over and over."""
    for name, data in samples(tmp_path).items():
        path = tmp_path / f"whole-{name}"
        path.write_bytes(data)
        session = open_transcript(path)
        assert session.threads[0].messages or session.threads[0].requests, name
