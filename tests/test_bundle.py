"""What `make bundle` and the set-up leave out, and the limit of what is handed out."""

import ast
import os
import subprocess
import sys
from fnmatch import fnmatch
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "packaging"))

import bundle  # noqa: E402


def _imported() -> set[str]:
    """Dotted names that the program imports; of Qt, the modules."""
    names = set[str]()
    for path in (ROOT / "inspector").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return names


def test_left_out_when_compared_with_imports_holds_no_imported_module() -> None:
    names = _imported()
    modules = {name.partition(".")[0] for name in names} & set(sys.stdlib_module_names)
    modules |= {"asyncio", "multiprocessing", "sqlite3", "ssl", "ctypes", "_ctypes", "_ssl"}
    assert not {
        (name, pattern) for name in modules for pattern in bundle.LEFT_OUT if fnmatch(name, pattern)
    }


_LOADED = """
import sys
from pathlib import Path
import inspector.gui.app, inspector.gui.window, keyring.backends.SecretService
import pyqtgraph, pyqtgraph.exporters, zstandard
from PySide6.QtWidgets import QApplication
app = QApplication([])
lines = Path("/proc/self/maps").read_text().splitlines()
files = {line.split(maxsplit=5)[5] for line in lines if "/site-packages/" in line}
files |= {module.__file__ for module in list(sys.modules.values()) if getattr(module, "__file__", None)}
print(*(file.split("/site-packages/")[1] for file in files if "/site-packages/" in file), sep="\\n")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_unneeded_when_the_window_is_loaded_matches_no_loaded_file() -> None:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-c", _LOADED], env=environment, capture_output=True, text=True, check=True
    )
    loaded = [name for name in done.stdout.splitlines() if not name.startswith("_distutils_hack")]
    loaded += [f"PySide6/Qt/plugins/platforms/libq{one}.so" for one in ("xcb", "wayland")]
    loaded += [
        f"PySide6/Qt/plugins/imageformats/libq{one}.so" for one in ("gif", "jpeg", "svg", "webp")
    ]
    patterns = [*bundle.read_patterns(), *bundle.LEFT_OUT_OF_PACKAGES]
    assert "PySide6/QtWidgets.abi3.so" in loaded
    assert not {
        (name, pattern)
        for name in loaded
        for pattern in patterns
        if fnmatch(name, pattern) or fnmatch(name, f"{pattern}/*")
    }


def test_check_sizes_when_a_file_is_over_the_limit_exits_with_its_name(tmp_path: Path) -> None:
    small, large = tmp_path / "small.deb", tmp_path / "large.deb"
    small.write_bytes(bytes(100))
    large.write_bytes(bytes(2_000))
    bundle.check_sizes([small], 0.001)
    with pytest.raises(SystemExit, match=r"larger than 0\.001 MB: large\.deb$"):
        bundle.check_sizes([small, large], 0.001)


def test_write_control_when_read_depends_on_each_library_of_qt() -> None:
    lines = (ROOT / "resources" / "qt_libraries.txt").read_text(encoding="utf-8").splitlines()
    packages = {line.partition(":")[2] for line in lines if not line.startswith("#")}
    control = bundle.write_control("amd64", 1)
    (depends,) = (line for line in control.splitlines() if line.startswith("Depends: "))
    assert packages <= set(depends.removeprefix("Depends: ").split(", "))
    assert control.endswith("\n")


def test_copy_texts_when_a_package_has_no_license_exits(tmp_path: Path) -> None:
    about = tmp_path / "thing-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    (about / "RECORD").write_text("thing-1.0.dist-info/METADATA,,\n")
    (package,) = distributions(path=[str(tmp_path)])
    with pytest.raises(SystemExit, match="thing has no license text"):
        bundle.copy_texts(package, tmp_path)


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["-I", "-c", "print(6 * 7)"], "42"),
        (["-P", "-m", "inspector", "--version"], "context-inspector "),
        (["--version"], "context-inspector "),
    ],
)
def test_frozen_when_started_as_interpreter_runs_what_it_is_given(
    words: list[str], printed: str
) -> None:
    command = [sys.executable, str(ROOT / "packaging" / "frozen.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(printed)
