"""The rules of the house that no other tool keeps."""

import ast
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LINES = 500
FUNCTION_LINES = 45


def _committed() -> list[str]:
    """Names of the files under version control; without git, of all that are neither hidden nor built."""
    if shutil.which("git"):
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if listed.returncode == 0:
            return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    paths = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return [
        str(p) for p in paths if not any(part.startswith(".") or part in _MADE for part in p.parts)
    ]


_MADE = ("build", "dist", "__pycache__")
COMMITTED = _committed()
OURS = [name for name in COMMITTED if name.startswith("inspector/") and name.endswith(".py")]


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_no_link_is_committed() -> None:
    """A worktree's `.venv` is a link: once committed it would replace the environment of whoever merges it."""
    listed = subprocess.run(
        ["git", "ls-files", "-s"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not [line for line in listed.stdout.splitlines() if line.startswith("120000")]


def _texts() -> Iterator[tuple[str, str]]:
    """(name, text) of every committed text file that people write."""
    for name in COMMITTED:
        if not name.startswith(("resources/tiktoken/", "resources/fonts/")):
            data = (ROOT / name).read_bytes()
            if b"\0" not in data:
                yield name, data.decode("utf-8", errors="replace")


def _lines(node: ast.stmt | ast.expr) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _long_texts(node: ast.AST) -> Iterator[ast.expr]:
    """Multi-line strings (docstrings, a style sheet): texts, not code."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr) or (
            isinstance(child, ast.Constant) and isinstance(child.value, str)
        ):
            yield child
        else:
            yield from _long_texts(child)


@cache
def _tree(name: str) -> ast.Module:
    return ast.parse((ROOT / name).read_text(encoding="utf-8"))


@cache
def _nodes(name: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(_tree(name)))


def test_a_file_is_small_and_says_what_it_is() -> None:
    """500 lines at most, a docstring of its own, functions that fit on a screen."""
    for name in OURS:
        assert (ROOT / name).read_bytes().count(b"\n") <= LINES, name
        assert ast.get_docstring(_tree(name)), (
            f"{name}: a module says what it is and which rule it keeps"
        )
        for node in _nodes(name):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = _lines(node)
                length -= (
                    sum(_lines(text) - 1 for text in _long_texts(node))
                    if length > FUNCTION_LINES
                    else 0
                )
                assert length <= FUNCTION_LINES, f"{name}: {node.name} has {length} lines"


def test_what_is_public_says_what_it_does() -> None:
    """Public functions and classes carry a docstring. (In the window, methods that Qt calls explain themselves.)"""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    for name in (name for name in OURS if not name.startswith("inspector/gui/")):
        for node in _tree(name).body:
            if isinstance(node, kinds) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{name}: {node.name} has no docstring"


def test_a_share_is_spelt_in_one_place() -> None:
    """Window and command line spell it alike."""
    spelt = [
        name
        for name in OURS
        if re.search(r":[+<>\d]*(\.\d)?%\}", (ROOT / name).read_text(encoding="utf-8"))
    ]
    assert spelt == []


WIDE = 26


def test_a_folder_is_seen_at_a_glance() -> None:
    """Packages by subject, not by prefix: a folder that grows beyond this holds two subjects."""
    modules = Counter(str(Path(name).parent) for name in OURS)
    assert not {folder: n for folder, n in modules.items() if n > WIDE}


SHARED = {
    "core/formats": "calls detect foreign format growing many reading signs stored",
    "core/policies": "catalogue context harness place replacements settings turn verdict",
    "gui/panels": "catalogue list_panel panel",
}
"""Where things stand side by side: what is not one of them."""
USERS: dict[str, set[str]] = {
    "proxy": {"payload", "traces", "traffic"},
    "pi": {"openclaw"},
    "gemini_cli": {"qwen_code"},
    "message": {"losses", "proxy", "run", "tiers"},
}
"""Who may be imported by whom beside it (docs/architecture.md); `payload` by any format."""


@pytest.mark.parametrize("folder", SHARED)
def test_formats_policies_and_panels_do_not_import_each_other(folder: str) -> None:
    package = f"inspector.{folder.replace('/', '.')}"
    imported = re.compile(rf"^from {re.escape(package)}\.(\w+)", re.MULTILINE)
    pairs = set[tuple[str, str]]()
    for name in OURS:
        if name.startswith(f"inspector/{folder}/"):
            own = Path(name).relative_to(f"inspector/{folder}").parts[0].removesuffix(".py")
            pairs |= {
                (own, used) for used in imported.findall((ROOT / name).read_text(encoding="utf-8"))
            }
    shared = set(SHARED[folder].split())
    crossing = {(own, used) for own, used in pairs if own != used and not {own, used} & shared}
    assert pairs
    assert not {
        (own, used)
        for own, used in crossing
        if used != "payload" and own not in USERS.get(used, ())
    }


SEVERAL: dict[str, str] = {}
"""Type names with several meanings, and why each may have them."""


def test_a_type_name_means_one_thing() -> None:
    """Whoever searches for it finds the one place."""
    places: dict[str, list[str]] = {}
    for name in OURS:
        for node in _nodes(name):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(f"{name}:{node.lineno}")
    several = {name: found for name, found in places.items() if len(found) > 1}
    assert several.keys() == SEVERAL.keys(), {
        name: several.get(name) for name in several.keys() ^ SEVERAL.keys()
    }


def test_the_architecture_names_files_that_are_there() -> None:
    """Every path that docs/architecture.md and docs/how-to.md name, and every package in the first."""
    pages = [
        (ROOT / "docs" / name).read_text(encoding="utf-8")
        for name in ("architecture.md", "how-to.md")
    ]
    named = {
        one.rstrip("/")
        for page in pages
        for one in re.findall(r"`((?:inspector|tests|packaging)/[\w/.]*)`", page)
    }
    assert not {one for one in named if not (ROOT / one).exists()}
    packages = {"/".join(name.split("/")[:2]) for name in OURS if name.count("/") > 1}
    assert packages <= named
    for room, holds in re.findall(r"^\| `(inspector/[\w/]+)` \| (.*)$", pages[0], re.MULTILINE):
        short = re.findall(r"`(\w+\.py)`", holds)
        assert not [name for name in short if not list((ROOT / room).rglob(name))]


_MACHINE = re.compile(r"/work/(?:main|shared)|/root/\.|/opt/(?:wheels|pypi)")
_REGISTRY = re.compile(r"pypi\.org/simple|files\.pythonhosted|deb\.debian\.org|registry\.npmjs")


def test_no_file_names_a_machine_or_a_registry() -> None:
    """What is committed holds on every machine: no path of one, no host that packages come from."""
    found = [name for name, text in _texts() if _MACHINE.search(text) or _REGISTRY.search(text)]
    assert not found


def _pins(lock: str) -> dict[str, set[str]]:
    """name==version (with its marker) -> hashes, of packaging/`lock`."""
    pins: dict[str, set[str]] = {}
    for line in (ROOT / "packaging" / lock).read_text().replace("\\\n", " ").splitlines():
        requirement, *hashes = re.split(r"\s+--hash=", line)
        pins[requirement.strip()] = {one.strip() for one in hashes}
    return pins


@pytest.mark.parametrize(
    "lock", ["requirements.lock", "requirements-dev.lock", "requirements-bundle.lock"]
)
def test_a_lock_pins_by_hash_and_names_no_host(lock: str) -> None:
    """One version and at least one SHA-256 each, and nothing else in the file."""
    for requirement, hashes in _pins(lock).items():
        assert re.fullmatch(r"[a-z0-9.-]+==[^\s;]+( ; .+)?", requirement)
        assert hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes)
    assert "://" not in (ROOT / "packaging" / lock).read_text()


def test_the_test_lock_holds_the_run_lock() -> None:
    """What is tested is what is run: the same versions and hashes, on no fewer systems."""
    dev = _pins("requirements-dev.lock")
    for pin, hashes in _pins("requirements.lock").items():
        assert hashes == dev.get(pin, dev.get(pin.partition(" ;")[0])), pin


def test_the_bundle_lock_holds_the_versions_of_the_run_lock() -> None:
    packed = {
        pin.partition(" ;")[0]: hashes for pin, hashes in _pins("requirements-bundle.lock").items()
    }
    for pin, hashes in _pins("requirements.lock").items():
        assert hashes == packed.get(pin.partition(" ;")[0]), pin
    assert any(pin.startswith("mcp==") for pin in packed)


def _name(requirement: str) -> str:
    match = re.match(r"[\w.-]+", requirement)
    assert match
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def test_the_locks_hold_what_is_asked_for() -> None:
    """Every dependency of pyproject.toml is pinned."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for lock, wanted in (
        ("requirements.lock", project["project"]["dependencies"]),
        ("requirements-dev.lock", project["dependency-groups"]["dev"]),
    ):
        assert {_name(one) for one in wanted} <= {_name(pin) for pin in _pins(lock)}


def test_pyside_that_dies_on_this_python_is_not_pinned() -> None:
    """PySide6 6.12.0 loses a reference to None with every call on Python 3.11 and dies after some thousand."""
    (pin,) = (pin for pin in _pins("requirements.lock") if pin.startswith("pyside6-essentials=="))
    assert tuple(map(int, pin.partition("==")[2].split(".")[:2])) < (6, 12)


def test_what_is_imported_is_declared() -> None:
    """The tests' environment holds more packages than the program's: an import of one of those would break it there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = {_name(requirement) for requirement in project["project"]["dependencies"]}
    declared.add("pytest")  # the plugin is loaded by pytest itself
    owners = importlib.metadata.packages_distributions()
    for module in _imported():
        assert {_name(owner) for owner in owners.get(module, ())} & declared, (
            f"{module} is imported and not declared"
        )


def _imported() -> set[str]:
    """Names of the foreign top-level packages that the program imports."""
    found = set[str]()
    for name in OURS:
        for node in _nodes(name):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"inspector"}
