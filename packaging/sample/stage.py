"""Runs the commands of the story for real, once, when the story was changed; what they print is frozen in a file.

Everything that would differ from run to run or from machine to machine (folders, durations) is made the same.
"""

import os
import re
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from sample.workspace import HOME, Workspace

_DURATION = re.compile(r"\b(in|took) (\d+\.\d+) ?s\b")
_OBJECT = re.compile(r"\b0x7[0-9a-f]{11}\b")
_TEST_FOLDER = re.compile(r"/tmp/pytest-of-\w+/pytest-\d+")
_COPY = re.compile(r"/tmp/tmp\.\w{10}")
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "COLUMNS": "80",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": "-p no:cacheprovider",
    "GIT_AUTHOR_NAME": "Mira Feld",
    "GIT_AUTHOR_EMAIL": "mira@example.org",
    "GIT_COMMITTER_NAME": "Mira Feld",
    "GIT_COMMITTER_EMAIL": "mira@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
    "PYTHONHASHSEED": "0",
}


_PAST = (
    (
        "2025-12-08T17:02:00+00:00",
        "Accounts, postings, parser",
        "pyproject.toml CLAUDE.md ledger/__init__.py ledger/[acp]*",
    ),
    (
        "2025-12-30T10:41:00+00:00",
        "Rates look back at most seven days",
        "ledger/rates.py ledger/money.py data/rates.csv",
    ),
    (
        "2026-01-12T21:15:00+00:00",
        "register: running total in the currency of the account",
        "ledger/report.py README.md",
    ),
    (
        "2026-01-19T20:07:00+00:00",
        "Journals with Windows line ends; release 0.7.2",
        "CHANGELOG.md tests data/household.ledger",
    ),
    ("2026-02-24T18:33:00+00:00", "docs: rounding, and how imports should work", "docs data"),
)


class Stage:
    """A folder that follows the workspace."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ledger-")
        self.path = Path(self._folder.name).resolve()
        self._known: set[str] = set()

    def run(self, workspace: Workspace, command: str, moment: str) -> tuple[str, int]:
        """What the command prints, and its exit status. Files that it changes go back into the workspace."""
        self._write(workspace)
        folder = str(Path(sys.executable).parent)
        home = {"HOME": str(self.path), "PATH": f"{folder}:{os.environ['PATH']}"}
        dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.path,
            env=_ENVIRONMENT | home | dates,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
        self._read(workspace)
        return self._same(done.stdout.decode("utf-8", errors="replace")), done.returncode

    def found(self, workspace: Workspace) -> None:
        """A repository with a few commits behind it."""
        for moment, message, pattern in _PAST:
            add = f"git add {pattern} && git commit -q -m '{message}'"
            command = f"test -d .git || git init -q -b main; {add}"
            said, status = self.run(workspace, command, moment)
            if status:
                raise RuntimeError(said)
        self.run(workspace, "git switch -q -c fix/rounding", _PAST[-1][0])

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()

    def _write(self, workspace: Workspace) -> None:
        for name, content in workspace.files.items():
            place = self.path / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists() or place.read_bytes() != content:
                place.write_bytes(content)
        for name in self._known - set(workspace.files):
            (self.path / name).unlink(missing_ok=True)
        self._known = set(workspace.files)

    def _read(self, workspace: Workspace) -> None:
        found = {
            str(path.relative_to(self.path)): path.read_bytes()
            for path in sorted(self.path.rglob("*"))
            if path.is_file() and not path.relative_to(self.path).parts[0].startswith(".git")
        }
        workspace.files = {
            name: content for name, content in found.items() if "__pycache__" not in name
        }
        self._known = set(workspace.files)

    def _same(self, text: str) -> str:
        python = str(Path(sys.executable))
        text = text.replace(python, f"{HOME}/.venv/bin/python").replace(str(self.path), HOME)
        text = text.replace(str(Path(sys.executable).parent.parent), f"{HOME}/.venv").replace(
            sys.base_prefix, "/usr"
        )
        text = _TEST_FOLDER.sub(
            "/tmp/pytest-of-dev/pytest-3", _COPY.sub("/tmp/tmp.Qv4ZkE0hTu", text)
        )
        return _DURATION.sub(_duration, _OBJECT.sub("0x7f3c5a61e8d0", text)).rstrip("\n")


def _duration(match: re.Match[str]) -> str:
    digits = int(sha256(f"{match.start()}{match.string}".encode()).hexdigest(), 16) % 60 + 21
    return f"{match[1]} 0.{digits:02}s"
