"""Every file of `examples` runs against the real package, replays a session, and leaves what a provider accepts."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ENVIRONMENT = Path(os.environ.get("FRAMEWORKS", ROOT / ".frameworks"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SAMPLE = ROOT / "resources" / "sample.jsonl"
REFUSED = {"openai_agents_session": {"first-role"}}
"""What a framework does that a provider may refuse: a session limit may leave an answer at the beginning."""


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter that has the packages."""
    why = ENVIRONMENT / "why"
    if why.is_file():
        pytest.skip(f"the frameworks cannot be installed: {why.read_text('utf-8')}")
    if not (ENVIRONMENT / "done").is_file():
        pytest.skip(
            "the frameworks are not installed; `make test-frameworks` installs and tests them"
        )
    return ENVIRONMENT / "bin" / "python"


def run(python: Path, *words: str) -> Any:
    """What a command of ours prints as JSON."""
    command = [str(python), "-m", "inspector", *words, "--json"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: str(path.stem))
def test_example_is_short_and_compacts_with_the_real_package(python: Path, example: Path) -> None:
    assert len(example.read_text("utf-8").splitlines()) <= 40
    step = run(python, "step", str(SAMPLE), "--at", "78", "--policy", f"./examples/{example.name}")
    assert step["succeeded"]
    assert step["after"]["tokens"] < step["before"]["tokens"] / 2
    kept = [fate for fate in step["fates"] if fate["fate"] == "kept"]
    assert len(kept) > 15
    assert {refusal["rule"] for refusal in step["validity"]} == REFUSED.get(example.stem, set())
    asks = example.stem == "langchain_summarization"
    assert [need["kind"] for need in step["needs"]] == (["summarize"] if asks else [])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: str(path.stem))
def test_example_is_replayed_over_a_whole_session(python: Path, example: Path) -> None:
    report = run(python, "replay", str(SAMPLE), "--policy", f"./examples/{example.name}")
    recorded, own = report["policies"]
    assert recorded["policy"] == "recorded"
    assert own["totals"]["compactions"] > 0
    assert own["totals"]["peak"] < 200_000
