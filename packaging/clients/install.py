"""Real agents for `make test-clients`, from the package registry into `.clients/`, in exactly the versions pinned here.

Each has a folder beside this file: `package.json`, with its lock. What cannot be installed leaves the reason behind as
`.clients/NAME/why`, which its tests are skipped with. No install script of a package is run, but for those named here:
they only put a native program into its place.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
INTO = HERE.parent.parent / ".clients"
LIMIT_S = 300
LOCK = "package-lock.json"
FINISH = {
    "claude-code": ("node_modules/@anthropic-ai/claude-code", "install.cjs"),
    "opencode": ("node_modules/opencode-ai", "postinstall.mjs"),
}
"""Where a package puts its native program into place, and with what."""


class CannotInstall(Exception):
    """One sentence that says why."""


def clients() -> list[str]:
    """Names of all that are pinned here."""
    return sorted(path.parent.name for path in HERE.glob("*/package.json"))


def install(name: str) -> None:
    """Nothing is done where it is there already, as pinned. Raises CannotInstall."""
    folder = INTO / name
    if _is_there(name):
        return
    if shutil.which("npm") is None or shutil.which("node") is None:
        raise CannotInstall("there is no npm on this machine")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for pin in _pins(name):
        shutil.copy(pin, folder / pin.name)
    how = "ci" if (folder / LOCK).is_file() else "install"
    _run(["npm", how, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], folder)
    if name in FINISH:
        package, script = FINISH[name]
        _run(["node", script], folder / package)
    (folder / "done").touch()


def _pins(name: str) -> list[Path]:
    """`package.json`, and the lock where there is one (where all that it names can be had from every registry)."""
    return [HERE / name / pin for pin in ("package.json", LOCK) if (HERE / name / pin).is_file()]


def _is_there(name: str) -> bool:
    folder = INTO / name
    same = all(
        (folder / pin.name).is_file() and (folder / pin.name).read_bytes() == pin.read_bytes()
        for pin in _pins(name)
    )
    return same and (folder / "done").is_file()


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CannotInstall(f"{command[0]} did not come to an end within {LIMIT_S} s") from None
    if done.returncode:
        told = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise CannotInstall(f"{' '.join(command[:2])} failed: {' | '.join(told[:3])[:300]}")


def main() -> None:
    """Install those named on the command line, all where none is; a client that is missing is told, not an error."""
    for name in sys.argv[1:] or clients():
        why = INTO / name / "why"
        why.unlink(missing_ok=True)
        try:
            install(name)
            print(f"{name:12} is there")
        except CannotInstall as reason:
            why.parent.mkdir(parents=True, exist_ok=True)
            why.write_text(str(reason), encoding="utf-8")
            print(f"{name:12} cannot be installed: {reason}")


if __name__ == "__main__":
    main()
