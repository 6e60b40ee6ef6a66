"""The pytest plugin as a project uses it: real pytest runs over the sample, with report, JUnit and baseline."""

import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = ROOT / "resources" / "sample.jsonl"
CHECKS = """
from inspector import policy
from inspector.testing import assert_survives, assert_valid, max_cost, max_pressure, no_overflow

def test_fits(context_sessions):
    no_overflow("roku", context_sessions)
    assert_valid("roku", context_sessions)
    max_pressure("roku", context_sessions, 0.9)

def test_each(context_session):
    max_cost("roku", context_session, 100)
    assert_survives("roku", context_session, "CLAUDE.md has the house rules.")

def test_no_compaction_overflows(context_sessions):
    no_overflow("none", context_sessions)

def test_cheap(context_sessions):
    max_cost("none", context_sessions, 1)

def test_full(context_sessions):
    max_pressure("none", context_sessions, 0.5)

def test_pin_that_is_nowhere(context_sessions):
    assert_survives("none", context_sessions, ["never say hello to the moon"])
"""

MINE = """
from inspector.testing import max_cost, max_pressure

def test_cheap(context_sessions):
    max_cost("./mine.py", context_sessions, 100)

def test_full(context_sessions):
    max_pressure("mine.py", context_sessions, 0.5)
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with one recorded session and tests."""
    folder = pytester.mkdir("recorded")
    shutil.copy(SAMPLE, folder / "ledger.jsonl")
    pytester.makepyfile(test_policy=CHECKS)
    return pytester


def run(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    return project.runpytest_inprocess(
        "-p", "inspector.testing.plugin", "-p", "no:cacheprovider", *words
    )


def test_assertions_on_a_session_pass_or_fail_with_the_numbers(project: pytest.Pytester) -> None:
    stored = project.path / "base.json"
    done = run(
        project,
        "--context-sessions",
        "recorded",
        "--context-save-baseline",
        str(stored),
        "--context-report=r.md",
    )
    done.assert_outcomes(passed=2, failed=4)
    done.stdout.fnmatch_lines(
        [
            "*does not fit into the window:*",
            "*none on ledger.jsonl: 27 requests larger than 200,000 tokens*",
            "*costs $12.92, more than $1.00:*",
            "*none on ledger.jsonl: 254,411 tokens, 127% of 200,000*",
            "*no session holds 'never say hello to the moon'*",
            "*context report: r.md*",
        ]
    )
    figures = json.loads(stored.read_text("utf-8"))["figures"]
    assert figures["ledger.jsonl | none"]["peak"] == 254_411
    report = (project.path / "r.md").read_text("utf-8")
    assert "| ledger.jsonl | none | 132 | 254,411 | 127% | 27 | 0 | 0 | $12.92 |" in report

    figures["ledger.jsonl | none"] |= {"peak": 250_000, "cost_usd": 13.95}
    stored.write_text(json.dumps({"figures": figures}), "utf-8")
    words = [
        "--context-sessions",
        "recorded",
        "--context-baseline",
        str(stored),
        "--context-report=r.md",
    ]
    run(project, *words, "--junitxml=junit.xml", "-k", "full")
    report = (project.path / "r.md").read_text("utf-8")
    assert "| 254,411 (+4,411) | 127% | 27 | 0 | 0 | $12.92 (-$1.03) |" in report
    assert "Not in the baseline: 0. Not in this run: 1." in report
    (shown,) = ET.parse(project.path / "junit.xml").iter("property")
    assert shown.attrib["name"] == "context-inspector: ledger.jsonl | none"
    assert json.loads(shown.attrib["value"])["change"]["peak"] == 4_411


def test_project_without_sessions_skips_and_a_wrong_folder_or_baseline_is_one_sentence(
    project: pytest.Pytester,
) -> None:
    run(project).assert_outcomes(skipped=6)
    wrong = run(project, "--context-sessions", "nowhere")
    wrong.stderr.fnmatch_lines(["*there is no file or folder nowhere.*"])
    damaged = run(project, "--context-sessions", "recorded", "--context-baseline", "test_policy.py")
    damaged.stderr.fnmatch_lines(["*test_policy.py is not a baseline*"])


def test_plugin_when_loaded_imports_nothing_of_the_program() -> None:
    listed = "[n for n in sys.modules if n.startswith(('inspector.', 'orjson'))]"
    code = f"import sys, inspector.testing.plugin; print({listed})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['inspector.testing', 'inspector.testing.plugin']"


def test_baseline_of_a_policy_file_names_no_folder_and_holds_in_another_checkout(
    project: pytest.Pytester,
) -> None:
    (project.path / "mine.py").write_text(
        "from inspector.core.policies.catalogue import POLICIES\n"
    )
    with (project.path / "mine.py").open("a") as file:
        file.write('POLICY = POLICIES["none"]\n')
    project.makepyfile(test_policy=MINE)
    stored = project.path / "base.json"
    words = "--context-sessions", "recorded"
    run(project, *words, "--context-save-baseline", str(stored)).assert_outcomes(passed=1, failed=1)
    assert list(json.loads(stored.read_text())["figures"]) == ["ledger.jsonl | mine.py"]
    again = run(project, *words, "--context-baseline", str(stored), "--context-report=r.md")
    again.stdout.fnmatch_lines(["*mine.py on ledger.jsonl: 254,411 tokens*"])
    assert "Not in the baseline" not in (project.path / "r.md").read_text()
