"""The environment of `make test-frameworks`: packages whose compaction `examples` replays, in `.frameworks`.

They are not in `.venv`, because nobody else needs them (200 MB). What cannot be installed leaves the reason behind in
`.frameworks/why`, with which the tests are skipped.
"""

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INTO = ROOT / ".frameworks"
LOCK = ROOT / "packaging" / "requirements-frameworks.lock"
LIMIT_S = 900


def install() -> str:
    """Make the environment unless it is there as pinned. Return why it cannot be made, empty if it is there."""
    done = INTO / "done"
    if done.is_file() and done.read_bytes() == LOCK.read_bytes():
        return ""
    shutil.rmtree(INTO, ignore_errors=True)
    venv.create(INTO, with_pip=False, symlinks=True)
    python = INTO / "bin" / "python"
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-input",
        "--no-deps",
    ]
    command += [
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
        "--require-hashes",
        "-r",
        str(LOCK),
    ]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"pip needed more than {LIMIT_S} s"
    if run.returncode:
        return run.stderr.strip().splitlines()[-1]
    (packages,) = INTO.glob("lib/python3*/site-packages")
    # A .pth within a folder that a .pth names is not followed, so the checkout is named by itself.
    (packages / "context_inspector.pth").write_text(
        f"{ROOT}\n{sysconfig.get_path('purelib')}\n", "utf-8"
    )
    done.write_bytes(LOCK.read_bytes())
    return ""


def main() -> int:
    """Exit status 0 also if the packages cannot be installed: then the tests are skipped with the reason."""
    why = install()
    if why:
        INTO.mkdir(exist_ok=True)
        (INTO / "why").write_text(why, "utf-8")
        print(f"the frameworks cannot be installed: {why}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
