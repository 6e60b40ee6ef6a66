"""Ends what a command started where its keeper could not: the command may have ended it, or this is no Linux.

The keeper's group is ended first. All else is found by a mark in its environment, which children inherit
(Linux: /proc); a process is held by a descriptor while it is looked at, so that no other one of the same number is hit.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

MARK = "CONTEXT_INSPECTOR_COMMAND"
ROUNDS = 20
"""A process may start another while we look; after so many rounds it is given up."""


def end_all(group: int, mark: str) -> None:
    """Kill the group of that leader, then everything that carries the mark."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    needle = f"{MARK}={mark}\0".encode()
    for _ in range(ROUNDS):
        ended = [process for process in _processes() if _end(process, needle)]
        if not ended:
            return


def _processes() -> list[int]:
    try:
        return [int(one) for one in os.listdir("/proc") if one.isdecimal()]
    except OSError:  # no such place on this system
        return []


def _end(process: int, needle: bytes) -> bool:
    """Kill it if it carries the mark. Says whether it did."""
    with suppress(OSError):
        held = os.pidfd_open(process)
        try:
            if needle in Path(f"/proc/{process}/environ").read_bytes() + b"\0":
                signal.pidfd_send_signal(held, signal.SIGKILL)
                return True
        finally:
            os.close(held)
    return False
