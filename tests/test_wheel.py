"""What `pip install .` gives: a command that works in an environment of its own, from any folder, resources within.

Nothing is downloaded: the wheel is built with what is installed, and the dependencies are found through a .pth file.
"""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Starts the program, waits until its window shows a transcript's name, and leaves as a person would: by closing it.
WINDOW = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
real, tries = QApplication.exec, 0
def look():
    global tries
    tries += 1
    for window in QApplication.topLevelWidgets():
        if window.isVisible() and sys.argv[1] in window.windowTitle():
            print(QApplication.platformName(), window.windowTitle())
            window.close()
            return
    if tries > 300:
        print([w.windowTitle() for w in QApplication.topLevelWidgets()], file=sys.stderr)
        QApplication.exit(3)
def run(*_):
    timer = QTimer(interval=100)
    timer.timeout.connect(look)
    timer.start()
    return real()
QApplication.exec = run
from inspector.__main__ import main
sys.exit(main(sys.argv[2:]))
"""


class Installed:
    """The program in an environment of its own. `folder` is somewhere that is not the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheel = _build(folder / "dist")
        venv.create(folder / "env", with_pip=False, symlinks=True)
        self.python = folder / "env" / "bin" / "python"
        self.command = folder / "env" / "bin" / "context-inspector"
        install = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(self.python),
            "install",
            "--no-index",
            "--no-deps",
        ]
        self.run(*install, "--disable-pip-version-check", str(self.wheel))
        # A .pth within a folder that a .pth names is not followed: the checkout stays out of sight.
        (packages,) = (folder / "env").glob("lib/python3*/site-packages")
        (packages / "installed.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def run(self, *command: str | Path, **environment: str) -> str:
        """Standard output of a command that must succeed, started in another folder and without our environment."""
        kept = {
            name: os.environ[name]
            for name in ("PATH", "HOME", "TMPDIR", "LANG")
            if name in os.environ
        }
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self.folder,
            env=kept | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        assert "Traceback" not in done.stderr
        return done.stdout


def _build(to: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(to),
        str(ROOT),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = to.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module")
def sample(installed: Installed) -> Path:
    """The bundled sample, as it lies in the installed package."""
    where = installed.run(
        installed.python,
        "-c",
        "from inspector.resources import resource as r; print(r('sample.jsonl'))",
    )
    path = Path(where.strip())
    assert path.is_relative_to(installed.folder)
    assert path.is_file()
    return path


def test_the_wheel_holds_program_and_resources_and_nothing_else(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    assert {
        name.split("/")[0] for name in names if ".dist-info/" not in name and ".data/" not in name
    } == {"inspector"}
    assert any(name.endswith("/share/applications/context-inspector.desktop") for name in names)
    resources = {
        name.removeprefix("inspector/_resources/") for name in names if "/_resources/" in name
    }
    for wanted in (
        "sample.jsonl",
        "fonts/Inter-Regular.otf",
        "fonts/OFL.txt",
        "icons/context-inspector.svg",
    ):
        assert wanted in resources
    assert any(name.startswith("tiktoken/") for name in resources)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    (points,) = (name for name in names if name.endswith("entry_points.txt"))
    assert "inspector.testing.plugin" in zipfile.ZipFile(installed.wheel).read(points).decode()


def test_the_version_is_one(installed: Installed) -> None:
    asked = "import inspector, importlib.metadata as m; print(inspector.__version__, m.version('context-inspector'))"
    here, in_wheel = installed.run(installed.python, "-c", asked).split()
    assert here == in_wheel
    assert f"context_inspector-{here}-" in installed.wheel.name


def test_the_command_reads_the_sample(installed: Installed, sample: Path) -> None:
    told = json.loads(installed.run(installed.command, "info", sample, "--json"))
    assert told["format"] == "claude-code"
    assert installed.run(installed.command, "info", sample)


def test_the_vocabularies_are_found(installed: Installed) -> None:
    (installed.folder / "text").write_text("Context windows fill.")
    told = json.loads(
        installed.run(installed.command, "estimate", "text", "--estimator", "tiktoken", "--json")
    )
    assert told["tokens"] == 4


def test_a_window_opens_without_a_screen(installed: Installed, sample: Path) -> None:
    shown = installed.run(
        installed.python, "-c", WINDOW, sample.name, sample, QT_QPA_PLATFORM="offscreen"
    )
    assert shown.startswith("offscreen ")


def test_a_window_opens_on_a_screen(installed: Installed, sample: Path, screen: str) -> None:
    shown = installed.run(
        installed.python, "-c", WINDOW, sample.name, sample, QT_QPA_PLATFORM="xcb", DISPLAY=screen
    )
    assert shown.startswith("xcb ")
