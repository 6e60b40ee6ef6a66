"""A policy of the user's own with a mistake: one sentence, whatever runs it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from inspector.cli import main as cli
from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import POLICIES
from inspector.extensions.guarded_policy import guard_policy
from inspector.extensions.policies import load_file

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = str(ROOT / "resources" / "sample.jsonl")
(GUIDE,) = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs" / "add-a-policy.md").read_text("utf-8"), re.DOTALL
)
RAISES = ("    start = turns[-keep]\n", "    start = turns[-keep]\n    raise KeyError('boom')\n")
TWICE = (
    "[messages[0], *new, *messages[start:]]",
    "[messages[0], messages[0], *new, *messages[start:]]",
)
PARTED = (
    "    start = turns[-keep]\n",
    "    start = next(at for at in range(40, len(messages)) if messages[at].role == 'tool')\n",
)
FATE = ('fate: FateName = "summarised" if new else "dropped"', 'fate: FateName = "eaten"')
MARK = ('settings.limit, "slide_share"', 'settings.limit, "slide_part"')
TIER = ('"slide_share", (TIER,)', '"slide_share", ("glide",)')
CLASS = ("POLICY = SlidingPolicy()", "POLICY = SlidingPolicy")
DUE = (
    "tokens, limit = self.tokens(context), context.settings.limit\n",
    "tokens, limit = 1 // 0, 1\n",
)
Write = Callable[[tuple[str, str]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write the guide's policy with a part of it replaced."""

    def written(change: tuple[str, str]) -> Path:
        assert change[0] in GUIDE
        path = tmp_path / "mine.py"
        path.write_text(GUIDE.replace(*change), "utf-8")
        return path

    return written


def line_of(path: Path, text: str) -> int:
    return next(n for n, line in enumerate(path.read_text("utf-8").splitlines(), 1) if text in line)


@pytest.mark.parametrize("command", ["step", "replay", "info"])
def test_policy_that_raises_is_one_sentence_with_file_and_line(
    command: str, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    change, text, error = (
        (DUE, "1 // 0", "ZeroDivisionError") if command == "info" else (RAISES, "boom", "KeyError")
    )
    path = write(change)
    more = ["--tier", "slide"] if command == "step" else []
    assert cli.main([command, SAMPLE, "--policy", str(path), *more]) == 1
    said = capsys.readouterr().err
    assert f"mine.py, line {line_of(path, text)}: {error}" in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (TWICE, "the buffer has the message"),
        (FATE, "the fate 'eaten', which does not exist"),
        (PARTED, "is parted from its tool call. A result for toolu_"),
    ],
)
def test_outcome_that_contradicts_itself_is_one_sentence(
    change: tuple[str, str], sentence: str, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["step", SAMPLE, "--policy", str(write(change)), "--tier", "slide"]) == 1
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            MARK,
            r"the setting 'slide_part' of the watermark '80% slide' does not exist\. Its settings are .*slide_share",
        ),
        (
            TIER,
            r"the tier 'glide' of the watermark '80% slide' does not exist\. Its tiers are slide\.",
        ),
        (CLASS, r"holds a class\. Make an object of it: POLICY = SlidingPolicy\(\)\."),
    ],
)
def test_policy_that_contradicts_itself_is_not_loaded(
    change: tuple[str, str], sentence: str, write: Write
) -> None:
    with pytest.raises(InspectorError, match=sentence):
        load_file(write(change))


@pytest.mark.parametrize("name", list(POLICIES))
def test_every_policy_of_the_house_passes_the_checks(name: str) -> None:
    guarded = guard_policy(POLICIES[name], name)
    assert (guarded.name, guarded.reference) == (name, name)
    assert guarded.settings() == POLICIES[name].settings()


def test_demo_with_a_policy_of_ones_own_runs_that_policy(
    write: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path, journal = write(("0.8, ", "0.3, ")), tmp_path / "journal.jsonl"
    status = cli.main(
        [
            "run",
            "--demo",
            "--policy",
            str(path),
            "--set",
            "keep_turns=1",
            "--max-turns",
            "3",
            "--record",
            str(journal),
        ]
    )
    assert status == 1, "three turns are not enough"
    header = journal.read_text("utf-8").splitlines()[0]
    assert "mine.py" in header
    assert "keep_turns" in header
