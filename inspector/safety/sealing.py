"""Protects the program's memory and environment from the commands that it runs, which run as the same user.

On Linux the process becomes "not dumpable": no other process of this user can read its memory, environment or
descriptors. Root still can, so the keys are removed from the environment, and the system's copy of the environment
(`/proc/PID/environ`) is emptied. The keys are then only in memory.
"""

import ctypes
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from inspector.safety.keys import take_keys

PR_SET_DUMPABLE = 4
_SEEN = ("PATH", "HOME", "LANG", "TMPDIR", "TZ", "SYSTEMROOT")
_KINDS = ("LC_", "LD_", "DYLD_")


def seal() -> None:
    """Protect this process. Call once, before anything else; a step that the system does not support is skipped."""
    take_keys()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        with suppress(OSError, ValueError, IndexError):
            _empty_block()


def open_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without secrets, for a process of this program that needs no key."""
    return {
        name: value
        for name, value in environment.items()
        if name in _SEEN or name.startswith(_KINDS)
    }


def _empty_block() -> None:
    """Copy the variables elsewhere in memory, then zero the block that `/proc/PID/environ` shows."""
    stat = Path("/proc/self/stat").read_text(errors="replace")
    fields = stat.rpartition(")")[2].split()  # the program's name in brackets may contain blanks
    start, end = int(fields[47]), int(fields[48])  # env_start and env_end, see proc(5)
    if not 0 < start < end:
        return
    for name, value in os.environb.items():
        os.putenv(name, value)
    ctypes.memset(start, 0, end - start)
