"""`pins`, and what `replay` says of pins: the sample, for people and for programs."""

import json
from typing import Any

import pytest

from inspector.cli import main as cli
from inspector.core.replay.pins import PinIndex, collect_pins, recorded_pins
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from tests.cli import schema

SAMPLE = str(resource("sample.jsonl"))
RULE = "CLAUDE.md has the house rules."


def out(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(words) == 0
    return capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    return json.loads(out(capsys, *words, "--json"))


def test_it_says_what_the_core_finds(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "pins", SAMPLE, "--pin", RULE, "--policy", "codex")
    schema.check(found, schema.PINS)
    thread = open_transcript(SAMPLE).main
    histories = recorded_pins(thread, PinIndex(collect_pins(thread, [RULE])))
    assert [(one["text"], one["found"]) for one in found["pins"]] == [
        (one.pin.text, one.pin.origin) for one in histories
    ]
    for one, history in zip(found["pins"], histories, strict=True):
        spans = [(span["from"], span["to"], span["state"]) for span in one["recorded"]]
        assert spans == [(span.first, span.last, span.state) for span in history.spans]
        schema.check(one["policies"], {"codex": [schema.SPAN]})
    first = found["pins"][0]
    assert first["text"] == RULE
    assert [span["state"] for span in first["recorded"]] == ["verbatim", "gone"]
    assert first["recorded"][1]["evidence"] == "auto compaction"
    assert [span["state"] for span in first["policies"]["codex"]] == ["verbatim"]


def test_the_table_has_a_bar_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = out(capsys, "pins", SAMPLE, "--pin", RULE).splitlines()
    assert (
        lines[0]
        == "132 requests. Constraints and given pins that never left the context: recorded 1 of 3"
    )
    given = next(line for line in lines[1:] if " given " in line)
    assert "█" * 23 in given
    assert given.endswith(RULE)
    assert "gone since request 79, by auto compaction" in given


def test_a_thread_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    whole, agent = (
        document(capsys, "pins", SAMPLE, "--thread", name) for name in ("main", "b8d6b21")
    )
    assert agent["pins"]
    assert {one["text"] for one in agent["pins"]} != {one["text"] for one in whole["pins"]}


def test_replay_counts_the_pins_that_stay(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(
        capsys, "replay", SAMPLE, "--policy", "codex", "--policy", "none", "--pin", RULE
    )
    kept = {one["policy"]: one["pins"] for one in found["policies"]}
    assert kept == {
        "recorded": {"kept": 1, "of": 3},
        "codex": {"kept": 3, "of": 3},
        "none": {"kept": 3, "of": 3},
    }


def test_a_sweep_for_settings_that_keep_all_pins(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "replay",
        SAMPLE,
        "--policy",
        "opencode",
        "--sweep",
        "tail_max=2000,60000",
        "--jobs",
        "1",
    )
    every, keeping = document(capsys, *words), document(capsys, *words, "--keep-pins")
    assert [(one["set"]["tail_max"], one["pins_kept"], one["pins"]) for one in every["grid"]] == [
        ("2000", 1, 2),
        ("60000", 2, 2),
    ]
    assert [one["set"]["tail_max"] for one in keeping["grid"]] == ["60000"]
    assert [one["set"]["tail_max"] for one in keeping["cells"]] == ["60000"]


def test_where_no_setting_keeps_them_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    sweep = (
        "replay",
        SAMPLE,
        "--policy",
        "opencode",
        "--sweep",
        "tail_max=2000",
        "--jobs",
        "1",
        "--keep-pins",
    )
    assert cli.main(sweep) == 1
    assert "pins" in capsys.readouterr().err
    assert cli.main(("replay", SAMPLE, "--keep-pins")) == 1
    assert "--sweep" in capsys.readouterr().err
