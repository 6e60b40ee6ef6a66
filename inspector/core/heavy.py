"""Heavy packages, imported when they are first used: by one thread at a time, whatever thread that is.

Beside the window Python's imports are watched by PySide6, which looks into modules that are still on their way. Two
threads that import at once can then see half a module; an import that failed for this reason is made once more.
"""

from importlib import import_module
from threading import Lock
from types import ModuleType

_ONE_AT_A_TIME = Lock()


def load(name: str) -> ModuleType:
    """The module of that name. Raises ImportError where it really cannot be had."""
    with _ONE_AT_A_TIME:
        try:
            return import_module(name)
        except ImportError:
            return import_module(name)
