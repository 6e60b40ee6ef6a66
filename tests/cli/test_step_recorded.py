"""`step --recorded` and `--before`: what the recording did, and a tier on the buffer before that."""

import json

import pytest

from inspector.cli.main import main
from tests.cli.test_step_saved import SAMPLE


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["step", str(SAMPLE), "--json", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_what_the_recording_did_and_a_tier_on_the_buffer_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["info", str(SAMPLE), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["compactions"][0]
    at = str(made["before_request"])
    recorded = ran(capsys, "--at", at, "--recorded")
    assert (recorded["policy"], recorded["tier"]) == ("recorded", "auto compaction")
    before, after = recorded["before"], recorded["after"]
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert (before["predicted"], after["predicted"]) == (
        made["tokens_before"],
        made["tokens_after"],
    )
    fates = recorded["fates"]
    assert isinstance(fates, list)
    assert sum(one["fate"] != "inserted" for one in fates) == before["messages"]
    own = ran(capsys, "--at", at, "--before", "--tier", "L3b")
    assert own["before"] == before
    assert own["policy"] == "roku"


def test_where_the_buffer_only_grew_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", str(SAMPLE), "--at", "3", "--recorded"]) == 1
    assert "compacted and dropped nothing before request 3" in capsys.readouterr().err
