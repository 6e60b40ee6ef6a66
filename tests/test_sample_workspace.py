"""The sample workspace: its data can be made anew, its tests fail for one reason, one pattern mends them."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from inspector.resources import resource
from inspector.simulated.demo import CODE, LOG, NOTES, SIGNED, SIGNLESS

ROOT = Path(__file__).resolve().parent.parent


def _maker() -> ModuleType:
    path = ROOT / "packaging" / "make_workspace.py"
    if not path.exists():
        pytest.skip("made from a checkout only")
    spec = importlib.util.spec_from_file_location("make_workspace", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_data_can_be_made_anew() -> None:
    """The same bytes."""
    maker = _maker()
    assert resource("workspace/logs/gauge.log").read_text(encoding="utf-8") == maker.log()
    assert resource("workspace/data/residuals.csv").read_text(encoding="utf-8") == maker.residuals()


def test_it_fails_for_a_reason_and_can_be_mended(tmp_path: Path) -> None:
    """What the demo's notes say of it is true, too."""
    shutil.copytree(resource("workspace"), tmp_path / "work")
    work = tmp_path / "work"

    def tests() -> str:
        done = subprocess.run(
            [sys.executable, "-B", "-m", "unittest"],
            cwd=work,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.stderr

    before = tests()
    assert "FAILED (failures=2)" in before
    assert "384 readings in the log, 372 were read" in before
    assert "low water was 0.05 m" in before
    below = [line for line in (work / LOG).read_text().splitlines() if "height -" in line]
    assert len(below) == 12
    assert all(line.startswith("14 March 2026") for line in below)
    assert "Twelve readings are below datum" in NOTES
    code = (work / CODE).read_text()
    assert code.count(SIGNLESS) == 1
    (work / CODE).write_text(code.replace(SIGNLESS, SIGNED))
    assert tests().rstrip().endswith("OK")
