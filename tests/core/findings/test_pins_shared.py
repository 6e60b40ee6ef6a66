"""Real sessions: what is called a paraphrase is one, as far as that can be told without reading."""

import pytest

from inspector.core.errors import InspectorError
from inspector.core.replay.pins import Pin, PinIndex, collect_pins
from inspector.core.session import Thread
from inspector.transcripts.files import open_transcript
from tests.shared import ARE_REAL, TRANSCRIPTS, transcripts

FILES = [path for path in transcripts("claude-code/**/*.jsonl") if path.is_file()]


def sessions() -> list[tuple[str, Thread]]:
    """Project and main thread of those that were compacted."""
    found = []
    for path in FILES:
        try:
            thread = open_transcript(path).main
        except InspectorError:
            continue
        if TRANSCRIPTS and any(one.summary for one in thread.compactions):
            found.append((path.relative_to(TRANSCRIPTS).parts[1], thread))
    return found


@pytest.mark.skipif(not FILES, reason="no real transcripts on this machine")
def test_nobody_paraphrases_what_was_said_in_another_project() -> None:
    pairs = claimed = 0
    for project, thread in (compacted := sessions()):
        pins: tuple[Pin, ...] = collect_pins(thread)
        index = PinIndex(pins)
        for other, foreign in compacted:
            for one in foreign.compactions if other != project else ():
                if one.summary is not None:
                    pairs += len(pins)
                    claimed += sum(
                        index.paraphrase(n, one.summary) is not None for n in range(len(pins))
                    )
    assert pairs > 300 or not ARE_REAL
    assert claimed <= pairs / 500
