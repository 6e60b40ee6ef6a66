"""run_command: run a shell command in the workspace, with limits on its time and its output.

It runs in a separate session, without input, and with only the environment variables on an allow-list, so without this
program's keys and secrets. When it ends or is ended, all processes that it started end with it. A keeper process
ensures that, even for a daemon that left the session, and even if this program is killed.
"""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO
from uuid import uuid4

from inspector.agent.tools.common import Question, ToolError, ToolLimits, plain

_ALLOWED = re.compile(r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|VIRTUAL_ENV")
_KEEPER = Path(__file__).with_name("keeper.py")
"""The keeper's standard input is a pipe that only this program holds open. When it closes, the keeper ends the
command.
"""
BEAT_S, DRAIN_S, KEEPER_S = 0.05, 0.3, 8.0
_PIECE = 65_536


def environment(mark: str, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command. The folder of this program's Python is last on the path, as a fallback."""
    allowed = {name: value for name, value in inherited.items() if _ALLOWED.fullmatch(name)}
    path = [folder for folder in (allowed.get("PATH") or os.defpath).split(os.pathsep) if folder]
    return allowed | {
        "PATH": os.pathsep.join([*path, str(Path(sys.executable).parent)]),
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        MARK: mark,
    }


def about_command(command: str, folder: str, seconds: float) -> Question:
    """Return a question that shows the command verbatim."""
    always = "Always: exactly this command is allowed until this run ends; you are asked about any other."
    return Question(
        f"Run in {folder}, for at most {seconds:g} s:",
        plain(command),
        f"The command can do whatever you can do. {always}",
    )


def run_command(
    folder: Path, command: str, seconds: float, limits: ToolLimits, cancelled: Callable[[], bool]
) -> tuple[str, bool]:
    """Run a command until it ends, its time is over, or `cancelled` returns True.

    Returns:
        The output with a line about how the command ended, and whether it failed.

    Raises:
        ToolError: The command cannot be started.
    """
    if "\0" in command:
        raise ToolError("A command cannot hold a NUL.")
    mark = uuid4().hex
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_KEEPER), command], cwd=folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(mark, os.environ), start_new_session=True,
        )  # fmt: skip
    except (OSError, UnicodeEncodeError) as why:
        raise ToolError(f"The command cannot be started: {why}.") from None
    assert process.stdout is not None
    assert process.stdin is not None
    output = _Output(limits.output_bytes)
    reader = threading.Thread(target=output.take, args=(process.stdout,), daemon=True)
    reader.start()
    try:
        ended = _watch(process, reader, monotonic() + seconds, cancelled)
    finally:
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(KEEPER_S)
        end_all(process.pid, mark)  # in case the command has killed the keeper
        process.wait()
        reader.join(DRAIN_S)
    if ended == "time":
        ended = f"it ran for longer than {seconds:g} s"
    text = output.text()
    end = f"[ended: {ended}]" if ended else f"[exit code {process.returncode}]"
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{end}", bool(
        ended or process.returncode
    )


def _watch(
    process: subprocess.Popen[bytes],
    reader: threading.Thread,
    until: float,
    cancelled: Callable[[], bool],
) -> str:
    """Wait until the command ends (returns an empty text), its time is over (`time`), or it is cancelled (a sentence).

    The command may close its output and continue; a process that it left behind may keep the output open after its end.
    """
    while process.poll() is None:
        reader.join(BEAT_S)
        if not reader.is_alive():
            with suppress(subprocess.TimeoutExpired):
                process.wait(BEAT_S)
        if cancelled():
            return "it was stopped"
        if monotonic() > until:
            return "time"
    return ""


class _Output:
    """Keeps the beginning and the end of the output; bytes in the middle are only counted."""

    def __init__(self, limit: int) -> None:
        self._side = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._all = 0

    def take(self, pipe: IO[bytes]) -> None:
        """Read the pipe until the other end closes it."""
        with pipe:
            while data := os.read(pipe.fileno(), _PIECE):
                self._add(data)

    def _add(self, data: bytes) -> None:
        self._all += len(data)
        room = self._side - len(self._head)
        self._head += data[:room]
        self._tail += data[max(0, room) :]
        if len(self._tail) > 2 * self._side + _PIECE:
            del self._tail[: -self._side]

    def text(self) -> str:
        """Return the output as text, with a line that says how much is left out."""
        tail = bytes(self._tail[-self._side :]) if self._side else b""
        left = self._all - len(self._head) - len(tail)
        if not left:
            return plain((bytes(self._head) + tail).decode("utf-8", "replace"))
        head = self._head.decode("utf-8", "replace")
        return plain(f"{head}\n… {left:,} bytes left out …\n{tail.decode('utf-8', 'replace')}")


MARK = "CONTEXT_INSPECTOR_COMMAND"
ROUNDS = 20
"""Largest number of searches for marked processes, as each may start another one in the meantime."""


def end_all(group: int, mark: str) -> None:
    """Kill the process group, then every process that carries the mark in its environment."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    needle = f"{MARK}={mark}\0".encode()
    for _ in range(ROUNDS):
        ended = [process for process in _processes() if _end(process, needle)]
        if not ended:
            return


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:  # there is no /proc on this system
        return []


def _end(process: int, needle: bytes) -> bool:
    """Kill the process if it carries the mark. Return whether it did."""
    with suppress(OSError):
        held = os.pidfd_open(process)
        try:
            if needle in Path(f"/proc/{process}/environ").read_bytes() + b"\0":
                signal.pidfd_send_signal(held, signal.SIGKILL)
                return True
        finally:
            os.close(held)
    return False
