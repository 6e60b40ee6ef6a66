"""The process between the program and a command: it ensures that no process of the command survives the command.

This is a separate script (`python -I -S keeper.py COMMAND`) that imports nothing of the program. Its input is a pipe
that only the program holds open; when it closes, the command is ended. On Linux, every process that the command starts
stays a descendant of the keeper, even a daemon that leaves its session and parents: orphans become the keeper's
children.
"""

import ctypes
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
GIVE_UP_S = 5.0
"""Seconds after which processes that cannot be ended (of another user, or stuck in the kernel) are left."""
BEAT_S = 0.002


def main(command: str) -> None:
    """Run the command, end what it leaves behind, and exit with the command's status."""
    with suppress(OSError, AttributeError):  # not on Linux
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    process = os.posix_spawn(
        "/bin/sh",
        ["/bin/sh", "-c", command, "sh"],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
        setsid=True,
        setsigdef=(signal.SIGCHLD,),
    )
    for stream in (1, 2):  # otherwise the output would seem open until the keeper ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    status = _wait(process, woken)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)
    _end_all()
    _end_as(status)


def _wait(process: int, woken: int) -> int:
    """Return the command's wait status, or that of a killed process as soon as the input is closed."""
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if 0 in ready and not os.read(0, 1):
            return signal.SIGKILL
        if woken in ready:
            os.read(woken, 4096)
            while True:
                child, status = _reap_child()
                if not child:
                    break
                if child == process:
                    return status


def _reap_child() -> tuple[int, int]:
    """Return (process, status) of a child that has ended; zeros if none has."""
    try:
        return os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return 0, 0


def _end_all() -> None:
    """Kill the keeper's children until there are none. Orphans become its children, so then no process is left.

    While new children appear there is no pause, so that a process that forks again and again is overtaken.
    """
    until = time.monotonic() + GIVE_UP_S
    before: set[int] = set()
    while time.monotonic() < until:
        now = set(_children())
        for process in now:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        if now <= before:
            time.sleep(BEAT_S)
        before = now


def _children() -> list[int]:
    with suppress(OSError):  # not every kernel provides this file
        return [
            int(process)
            for process in Path(f"/proc/self/task/{os.getpid()}/children").read_bytes().split()
        ]
    return [
        int(process)
        for process in os.listdir("/proc")
        if process.isdecimal() and _parent(process) == os.getpid()
    ]


def _parent(process: str) -> int:
    try:
        return int(
            Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[1]
        )
    except (OSError, ValueError, IndexError):
        return 0


def _end_as(status: int) -> None:
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        which = os.WTERMSIG(status)
        with suppress(OSError, ValueError):
            signal.signal(which, signal.SIG_DFL)
        os.kill(os.getpid(), which)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main(sys.argv[1])
