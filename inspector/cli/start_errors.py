"""Explain why the window does not open, in a sentence that says what to do. Nothing here needs Qt."""

import ctypes
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence

from inspector.resources import resource

_LIBRARY = re.compile(r"\b(lib[\w.+-]+\.so[\w.]*)")
_WITHOUT = "context-inspector --help lists what works without a window."


def explain_import(error: ImportError) -> str:
    """Explain why Qt's Python packages cannot be imported."""
    if (
        error.name is not None
        and error.name.partition(".")[0] == "PySide6"
        and "lib" not in str(error)
    ):
        return "The window needs PySide6, which is not installed. Run: python3 -m pip install PySide6_Essentials"
    return explain_libraries(_LIBRARY.findall(str(error))) or f"Qt cannot be loaded: {error}."


def explain_platform(messages: Sequence[str], environment: Mapping[str, str]) -> str:
    """Explain why Qt opened no window, from the messages that it wrote before it gave up."""
    text = "\n".join(messages)
    platform = environment.get("QT_QPA_PLATFORM", "")
    if match := re.search(r'Could not find the Qt platform plugin "([^"]*)"', text):
        return f"Qt knows no platform {match[1]}: unset QT_QPA_PLATFORM, or set it to xcb, wayland or offscreen."
    if "Could not load the Qt platform plugin" in text and (why := explain_libraries(())):
        return why
    display = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    if display and (not platform or "could not connect to display" in text):
        what = f"The display {display} cannot be reached: start it, or set DISPLAY to another."
    elif platform:
        what = f"QT_QPA_PLATFORM is {platform}, which opens no window here: unset it."
    else:
        what = f"Qt opened no window: {messages[-1].strip() if messages else 'it does not say why'}"
    return f"{what} {_WITHOUT}"


def explain_libraries(named: Iterable[str]) -> str:
    """Say which system libraries are missing and how to install them; empty if none is. `named` are known to be
    missing.
    """
    packages = dict(_qt_libraries())
    missing = list(dict.fromkeys([*named, *(name for name in packages if not _is_there(name))]))
    if not missing:
        return ""
    libraries = "system libraries that are missing"
    if len(missing) == 1:
        libraries = "a system library that is missing"
    what = f"The window does not open. Qt needs {libraries}: {', '.join(missing)}."
    installable = [packages[name] for name in missing if name in packages]
    if not installable or not shutil.which("apt-get"):
        return f"{what} Install the packages that hold them."
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{what} Run: {sudo}apt-get install -y --no-install-recommends {' '.join(installable)}"


def _qt_libraries() -> Iterator[tuple[str, str]]:
    """Yield each library that Qt opens at its start, and the library's Debian package."""
    for line in resource("qt_libraries.txt").read_text(encoding="utf-8").splitlines():
        name, mark, package = line.partition(":")
        if mark and not name.startswith("#"):
            yield name, package


def _is_there(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
