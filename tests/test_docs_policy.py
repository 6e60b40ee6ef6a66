"""The policy that docs/add-a-policy.md builds, as it stands there: run by hand, stepped, replayed, swept."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main as cli
from inspector.core.needs import ProviderFailure, drive
from inspector.core.policies.context import PolicyContext
from inspector.extensions.policies import load_file
from tests.core.policies.build import Script, assistant, buffer, texts, user

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = str(ROOT / "resources" / "sample.jsonl")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (source,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "add-a-policy.md").read_text("utf-8"), re.DOTALL
    )
    path = tmp_path / "mine.py"
    path.write_text(source, "utf-8")
    return path


def answer(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    status = cli.main([*map(str, words), "--json"])
    out = capsys.readouterr()
    assert status == 0, out.err
    return json.loads(out.out)


def test_it_does_what_the_page_says(mine: Path) -> None:
    policy = load_file(mine)
    settings = policy.settings([("keep_turns", "1")], 100)
    before = buffer(user("one"), assistant("a" * 400), user("two"), assistant("b"))
    (done,) = drive(
        policy.before_call(PolicyContext(before, settings, policy.fresh(settings))),
        Script("a paragraph"),
    )
    assert texts(done.buffer.messages) == ["one", "a paragraph", "two", "b"]
    settings = policy.settings([("keep_turns", "1")], 100)
    talk = policy.before_call(PolicyContext(before, settings, policy.fresh(settings)))
    (silent,) = drive(talk, Script(ProviderFailure("no")))
    assert texts(silent.buffer.messages) == ["one", "two", "b"]
    assert silent.changed == {before.messages[1].id: "dropped"}
    assert not drive(
        policy.before_call(PolicyContext(before, policy.settings(), policy.fresh(settings))),
        Script(),
    )


def test_it_is_stepped_and_replayed(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stepped = answer(capsys, "step", SAMPLE, "--policy", mine, "--tier", "slide")
    assert stepped["fired"] == ["slide"]
    replayed = answer(
        capsys, "replay", SAMPLE, "--policy", mine, "--policy", "none", "--window", 100_000
    )
    recorded, first, plain = replayed["policies"]
    assert recorded["policy"] == "recorded"
    assert first["policy"] == "sliding"
    assert first["totals"]["compactions"] > 0
    assert first["totals"]["cache_read"] < plain["totals"]["cache_read"]


def test_it_is_swept(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--policy", mine, "--sweep", "keep_turns=2,4", "--jobs", 1, "--window", 100_000)
    swept = answer(capsys, "replay", SAMPLE, *words)
    assert [point["set"] for point in swept["grid"]] == [{"keep_turns": "2"}, {"keep_turns": "4"}]
    assert all(point["failed"] == 0 for point in swept["grid"])
