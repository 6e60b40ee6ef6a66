"""The set-up of the two commands, on machines of stand-ins: what is missing, who may install, what was left."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = (
    "sh",
    "dirname",
    "cat",
    "cksum",
    "grep",
    "uname",
    "tail",
    "rm",
    "chmod",
    "env",
    "mkdir",
    "cp",
    "flock",
    "true",
)
LIBRARIES = (
    "libglib-2.0.so.0",
    "libGL.so.1",
    "libEGL.so.1",
    "libxkbcommon.so.0",
    "libfontconfig.so.1",
    "libdbus-1.so.3",
    "libxcb-cursor.so.0",
    "libxcb-icccm.so.4",
    "libxcb-keysyms.so.1",
    "libxcb-shape.so.0",
    "libxkbcommon-x11.so.0",
)
PYTHON = """
echo "python3 $*" >>"$CALLS"
case "$*" in
*"-m venv"*) mkdir -p .venv/bin .venv/lib/python3.11/site-packages
    cp "$0" .venv/bin/python; echo "#!$PWD/.venv/bin/python" >.venv/bin/pip ;;
*"pip install"*) [ ! -e "$CALLS.pip-fails" ] || { echo "ERROR: no such version"; exit 1; } ;;
esac
"""


class Machine:
    """A checkout in `folder` and the commands that its PATH knows."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "a checkout"
        self.commands = folder / "commands"
        self.calls = folder / "calls"
        self.commands.mkdir()
        (self.checkout / "packaging").mkdir(parents=True)
        for name in ("setup.sh", "unneeded.txt", "requirements.lock", "requirements-dev.lock"):
            shutil.copy(ROOT / "packaging" / name, self.checkout / "packaging")
        for tool in TOOLS:
            if found := shutil.which(tool):
                (self.commands / tool).symlink_to(found)
        (self.checkout / "resources").mkdir()
        shutil.copy(ROOT / "resources" / "qt_libraries.txt", self.checkout / "resources")
        self.libraries(*LIBRARIES)
        self.command("id", "echo 0")
        self.command("python3", PYTHON)
        self.command("Xvfb", "")

    def command(self, name: str, script: str) -> None:
        path = self.commands / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def libraries(self, *names: str) -> None:
        self.command(
            "ldconfig",
            f'for l in {" ".join(names)}; do echo "	$l (libc6,x86-64) => /lib/$l"; done',
        )

    def apt_get(self) -> None:
        self.command("apt-get", 'echo "apt-get $*" >>"$CALLS"')

    def set_up(self, kind: str = "run") -> "subprocess.CompletedProcess[str]":
        environment = {
            "PATH": str(self.commands),
            "CALLS": str(self.calls),
            "TMPDIR": str(self.commands),
        }
        command = ["/bin/sh", str(self.checkout / "packaging" / "setup.sh"), kind]
        self.calls.write_text("")
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    def called(self, words: str) -> list[str]:
        return [line for line in self.calls.read_text().splitlines() if words in line]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_ready_checkout_is_left_alone(machine: Machine) -> None:
    assert machine.set_up().returncode == 0
    assert machine.called("pip install")
    again = machine.set_up()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert not machine.called("")


def test_pip_is_told_hashes_and_no_index(machine: Machine) -> None:
    machine.set_up()
    (call,) = machine.called("pip install")
    assert "--require-hashes" in call
    assert "index" not in call


@pytest.mark.parametrize(
    ("gone", "package"), [("libEGL.so.1", "libegl1"), ("libxcb-icccm.so.4", "libxcb-icccm4")]
)
def test_root_gets_the_missing_library_installed(machine: Machine, gone: str, package: str) -> None:
    machine.libraries(*(name for name in LIBRARIES if name != gone))
    machine.apt_get()
    assert machine.set_up().returncode == 0
    (call,) = machine.called("apt-get")
    assert call.endswith(f" {package}")
    assert "--no-install-recommends" in call


def test_whoever_may_not_install_gets_the_line_that_does(machine: Machine) -> None:
    machine.libraries("libGL.so.1")
    machine.apt_get()
    machine.command("id", "echo 1000")
    machine.command("sudo", "exit 1")
    told = machine.set_up()
    assert told.returncode == 1
    assert not machine.called("apt-get")
    line = "sudo apt-get install -y --no-install-recommends libglib2.0-0 libegl1 libxkbcommon0 libfontconfig1"
    assert line in told.stderr
    assert told.stderr.count("\n") == 1


def test_sudo_that_asks_nothing_is_used(machine: Machine) -> None:
    machine.libraries("libGL.so.1")
    machine.apt_get()
    machine.command("id", "echo 1000")
    machine.command("sudo", '[ "$1" = -n ] && shift && exec "$@"')
    assert machine.set_up().returncode == 0
    assert machine.called("apt-get install")


def test_a_system_without_apt_is_told_what_is_needed(machine: Machine) -> None:
    machine.libraries("libGL.so.1")
    told = machine.set_up()
    assert told.returncode == 1
    assert "libegl1" in told.stderr
    assert told.stderr.count("\n") == 1


def test_where_the_loader_cannot_be_asked_qt_will_tell(machine: Machine) -> None:
    machine.command("ldconfig", "exit 1")
    assert machine.set_up().returncode == 0


def test_tests_go_without_a_virtual_screen_where_none_can_be_installed(machine: Machine) -> None:
    (machine.commands / "Xvfb").unlink()
    machine.apt_get()
    machine.command("id", "echo 1000")
    machine.command("sudo", "exit 1")
    assert machine.set_up("dev").returncode == 0


def test_a_failed_installation_is_begun_anew(machine: Machine) -> None:
    Path(f"{machine.calls}.pip-fails").touch()
    told = machine.set_up()
    assert told.returncode == 1
    assert "no such version" in told.stderr
    Path(f"{machine.calls}.pip-fails").unlink()
    assert machine.set_up().returncode == 0
    assert machine.called("-m venv --clear")


def test_set_up_when_packages_bring_unused_parts_deletes_only_these(machine: Machine) -> None:
    machine.set_up()
    packages = machine.checkout / ".venv" / "lib" / "python3.11" / "site-packages"
    libraries = packages / "PySide6" / "Qt" / "lib"
    libraries.mkdir(parents=True)
    for name in ("libQt6Quick3D.so.6", "libQt6Widgets.so.6"):
        (libraries / name).touch()
    (packages / "pyqtgraph" / "examples").mkdir(parents=True)
    with (machine.checkout / "packaging" / "requirements.lock").open("a") as lock:
        lock.write("more==1.0\n")
    assert machine.set_up().returncode == 0
    assert [path.name for path in libraries.iterdir()] == ["libQt6Widgets.so.6"]
    assert list((packages / "pyqtgraph").iterdir()) == []


def test_a_new_lock_is_installed_into_the_same_environment(machine: Machine) -> None:
    machine.set_up()
    with (machine.checkout / "packaging" / "requirements.lock").open("a") as lock:
        lock.write("more==1.0\n")
    assert machine.set_up().returncode == 0
    assert machine.called("pip install")
    assert not machine.called("-m venv")


def test_a_moved_checkout_is_set_up_anew(machine: Machine) -> None:
    machine.set_up()
    machine.checkout = machine.checkout.rename(machine.checkout.with_name("elsewhere"))
    assert machine.set_up().returncode == 0
    assert machine.called("-m venv --clear")


def test_an_environment_that_belongs_to_another_checkout_is_left_alone(machine: Machine) -> None:
    machine.set_up()
    theirs = (machine.checkout / ".venv").rename(machine.checkout.with_name("theirs"))
    (machine.checkout / ".venv").symlink_to(theirs)
    machine.checkout = machine.checkout.rename(machine.checkout.with_name("elsewhere"))
    before = sorted(theirs.rglob("*"))
    told = machine.set_up()
    assert (told.returncode, sorted(theirs.rglob("*"))) == (1, before)
    assert "remove the link" in told.stderr


def test_to_test_is_also_to_run(machine: Machine) -> None:
    machine.set_up("dev")
    machine.set_up("run")
    assert not machine.called("")


@pytest.mark.skipif(os.name != "posix", reason="make is for POSIX systems")
def test_make_alone_says_what_can_be_made() -> None:
    if not shutil.which("make"):
        pytest.skip("no make here")
    said = subprocess.run(
        ["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for target in (
        "run",
        "test",
        "bench",
        "lint",
        "screenshots",
        "lock",
        "wheel",
        "bundle",
        "clean",
    ):
        assert f"make {target} " in said
