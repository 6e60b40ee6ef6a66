"""The man page and the completions: every command and option is in them, and the shells read them."""

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "packaging"))

from make_shell_files import Command, make_files, read_commands  # noqa: E402

from inspector import __version__  # noqa: E402
from inspector.cli.main import COMMANDS  # noqa: E402
from inspector.resources import resource  # noqa: E402


@pytest.fixture(scope="module")
def commands() -> list[Command]:
    return read_commands()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The four files as an installation has them."""
    share = tmp_path_factory.mktemp("share")
    for place, text in make_files().items():
        path = share / place
        path.parent.mkdir(parents=True)
        path.write_text(text, "utf-8")
    return share


def complete_in_bash(folder: Path, *words: str) -> set[str]:
    """Return what bash offers for the last of these words."""
    script = """
    source "$1"; shift
    compopt() { :; }
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _context_inspector
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = folder / "bash-completion/completions/context-inspector"
    words = ("bash", "--norc", "-c", script, "bash", str(path), "context-inspector", *words)
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_commands_of_the_parser_are_those_that_exist(commands: list[Command]) -> None:
    assert [command.name for command in commands] == list(COMMANDS)
    report = next(command for command in commands if command.name == "report")
    assert {name for option in report.options for name in option.names} >= {
        "-o",
        "--output",
        "--redact",
    }


def test_man_page_has_every_command_and_option(commands: list[Command]) -> None:
    page = make_files()["man/man1/context-inspector.1"]
    for command in commands:
        section = page.split(f"\n.SS {command.name}".replace("-", r"\-"), 1)[1].split("\n.S", 1)[0]
        for option in command.options:
            for name in option.names:
                assert rf"\fB{name}\fR".replace("-", r"\-") in section, (command.name, name)


def test_bash_completes_every_command_and_option(commands: list[Command], folder: Path) -> None:
    assert complete_in_bash(folder, "") >= set(COMMANDS)
    assert complete_in_bash(folder, "rep") == {"replay", "report"}
    for command in commands:
        names = {name for option in command.options for name in option.names}
        assert complete_in_bash(folder, command.name, "-") == names
    assert complete_in_bash(folder, "step", "--mode", "") == {"faithful", "safe"}


@pytest.mark.parametrize(
    "place",
    ["zsh/site-functions/_context-inspector", "fish/vendor_completions.d/context-inspector.fish"],
)
def test_zsh_and_fish_name_every_command_and_option(
    commands: list[Command], folder: Path, place: str
) -> None:
    text = (folder / place).read_text("utf-8")
    for command in commands:
        lines = text.splitlines()
        if "zsh" in place:
            section = text.split(f"\n  {command.name}) _arguments", 1)[1].split(";;", 1)[0]
            lines = section.splitlines()
        else:
            lines = [line for line in lines if f"from {command.name}'" in line]
        words = {word.split("[")[0].strip("'*\\ ") for line in lines for word in line.split()}
        for option in command.options:
            for name in option.names:
                spelling = name if "zsh" in place else name.lstrip("-")
                assert spelling in words, (command.name, name)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_file_without_an_error(shell: str, folder: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (path,) = (path for path in folder.rglob("*") if path.is_file() and shell in path.parts)
    subprocess.run([shell, "-n", str(path)], check=True, timeout=60)


def test_software_centre_entry_names_this_version_and_files_that_ship() -> None:
    root = ET.parse(resource("context-inspector.metainfo.xml")).getroot()
    releases = [release.attrib["version"] for release in root.iter("release")]
    assert releases[0] == __version__
    entry = resource(str(root.findtext("launchable"))).read_text("utf-8")
    types = resource("context-inspector.mime.xml").read_text("utf-8")
    for kind in root.iter("mediatype"):
        assert f"{kind.text};" in entry
        assert f'"{kind.text}"' in types
    if program := shutil.which("appstreamcli"):
        words = [program, "validate", "--no-net", str(resource("context-inspector.metainfo.xml"))]
        subprocess.run(words, check=True, capture_output=True, timeout=60)
