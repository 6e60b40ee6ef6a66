"""What keeps the program from its work before it begins: one sentence on stderr, and exit status 1."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.cli.start_errors import explain_import, explain_libraries, explain_platform

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = str(ROOT / "resources" / "sample.jsonl")
MISSING = "libEGL.so.1: cannot open shared object file: No such file or directory"


def _start(*words: str, shell: str = "", **environment: str) -> "subprocess.CompletedProcess[str]":
    """The program with these words; `shell` is written after them, to close a stream."""
    command = [sys.executable, "-m", "inspector", *words]
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    inherited = {name: value for name, value in os.environ.items() if name not in screens}
    return subprocess.run(
        ["sh", "-c", f'"$@" {shell}', "sh", *command],
        cwd=ROOT, env=inherited | environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def _sentence(result: "subprocess.CompletedProcess[str]") -> str:
    """The one line on stderr."""
    (line,) = result.stderr.splitlines()
    assert line.startswith("context-inspector: ")
    return line.removeprefix("context-inspector: ")


@pytest.mark.parametrize("words", [("info", SAMPLE), ("info", SAMPLE, "--json"), ("--version",)])
def test_command_when_stdout_is_closed_says_so(words: tuple[str, ...]) -> None:
    result = _start(*words, shell=">&-")
    assert result.returncode == 1
    assert _sentence(result) == "Standard output is closed, so the answer cannot be written."


def test_command_when_stdout_is_full_says_so() -> None:
    result = _start("info", SAMPLE, "--json", shell=">/dev/full")
    assert result.returncode == 1
    assert _sentence(result) == "No space left on device."


def test_command_when_stderr_is_closed_answers() -> None:
    result = _start("info", SAMPLE, shell="2>&-")
    assert result.returncode == 0
    assert "Request 78" in result.stdout


def test_recording_when_stdout_is_closed_does_not_become_stdout(tmp_path: Path) -> None:
    """The first file that is opened would be given its number."""
    record = tmp_path / "record.jsonl"
    words = ("proxy", "--upstream", "http://127.0.0.1:9", "--record", str(record))
    result = _start(*words, shell=">&-")
    assert result.returncode == 1
    assert "Standard output is closed" in _sentence(result)
    assert "listening" not in record.read_text()


SCREENS = {
    "dead display": ({"DISPLAY": ":97"}, "The display :97 cannot be reached"),
    "dead display of a named platform": (
        {"DISPLAY": ":97", "QT_QPA_PLATFORM": "xcb"},
        "The display :97 cannot be reached",
    ),
    "dead wayland": ({"WAYLAND_DISPLAY": "none-such"}, "The display none-such cannot be reached"),
    "unknown platform": (
        {"QT_QPA_PLATFORM": "none-such"},
        "Qt knows no platform none-such: unset QT_QPA_PLATFORM",
    ),
    "platform without its display": (
        {"QT_QPA_PLATFORM": "wayland"},
        "QT_QPA_PLATFORM is wayland, which opens no",
    ),
    "platform without a screen": (
        {"QT_QPA_PLATFORM": "linuxfb:fb=/dev/null"},
        "QT_QPA_PLATFORM is linuxfb",
    ),
    "no display": ({}, "there is no display to open a window on"),
}


@pytest.mark.parametrize("what", SCREENS)
def test_window_when_there_is_no_screen_says_why(what: str) -> None:
    environment, why = SCREENS[what]
    result = _start(SAMPLE, **environment)
    assert result.returncode == 1
    assert _sentence(result).startswith(why)


def test_window_when_a_library_of_qt_is_missing_names_the_command(tmp_path: Path) -> None:
    """As on a bare Debian after `pip install`."""
    package = tmp_path / "PySide6"
    package.mkdir()
    (package / "__init__.py").write_text(f"raise ImportError({MISSING!r})\n")
    (tmp_path / "apt-get").write_text("#!/bin/sh\n")
    (tmp_path / "apt-get").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    result = _start(SAMPLE, DISPLAY=":97", PYTHONPATH=str(tmp_path), PATH=path)
    assert result.returncode == 1
    sentence = _sentence(result)
    assert "libEGL.so.1" in sentence
    assert "apt-get install -y --no-install-recommends libegl1" in sentence


def test_libraries_when_one_cannot_be_loaded_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> None:
        if name in ("libxcb-cursor.so.0", "libxcb-shape.so.0"):
            raise OSError(name)

    monkeypatch.setattr("ctypes.CDLL", load)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    messages = ['Could not load the Qt platform plugin "xcb" in "" even though it was found.']
    sentence = explain_platform(messages, {"DISPLAY": ":0"})
    assert "libxcb-cursor.so.0, libxcb-shape.so.0" in sentence
    assert sentence.endswith(
        "sudo apt-get install -y --no-install-recommends libxcb-cursor0 libxcb-shape0"
    )
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert explain_libraries(()).endswith("Install the packages that hold them.")


def test_import_error_when_it_names_no_library_is_repeated() -> None:
    assert "pip install PySide6" in explain_import(
        ImportError("No module named 'PySide6'", name="PySide6")
    )
    assert explain_import(ImportError("cannot import name 'QWidget'")).startswith(
        "Qt cannot be loaded: cannot import"
    )
