"""Writers of recordings that need no start: each is forked from a process that has imported what they import.

What runs is the writer itself, in a process of its own. Tests of how it is started and of what it inherits start it as
the program does: they replace the fixture `warm_writers`.
"""

import json
import os
import select
import socket
import subprocess
import sys
from contextlib import ExitStack
from functools import cache
from typing import IO, Any

from inspector.proxy.record import recorder
from inspector.proxy.record.record_file import RecordFile
from inspector.safety.sealing import open_environment

_START = recorder._start
_PARENT = """
import fcntl, json, os, socket
from inspector.proxy.record.writer import main

def become_writer(asked, received):
    os.setsid()
    server.close()
    high = [fcntl.fcntl(one, fcntl.F_DUPFD, 200) for one in received]
    os.closerange(3, 200)
    for one, number in zip(high, (0, 1, 2, asked["handle"]), strict=True):
        if one != number:
            os.dup2(one, number)
            os.close(one)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    main()

server = socket.socket(fileno=0)
while True:
    data, received, _, _ = socket.recv_fds(server, 1 << 20, 4)
    if not data:
        break
    asked = json.loads(data)
    if "wait" in asked:
        answer = os.waitstatus_to_exitcode(os.waitpid(asked["wait"], 0)[1])
    elif not (answer := os.fork()):
        code = 1
        try:
            become_writer(asked, received)
            code = 0
        except BaseException:
            __import__("traceback").print_exc()
        finally:
            os._exit(code)
    for one in received:
        os.close(one)
    server.send(str(answer).encode())
"""


class WarmWriter:
    """A writer: what `Recorder` uses of a `subprocess.Popen`."""

    def __init__(
        self, parent: "WriterParent", pid: int, stdin: IO[bytes], stdout: IO[bytes]
    ) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._parent = parent
        self._code: int | None = None
        self._end = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""
        if self._code is None and select.select([self._end], [], [], 0)[0]:
            self._code = self._parent.ask({"wait": self.pid})
            os.close(self._end)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Until it has ended."""
        if self._code is None and not select.select([self._end], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("writer", timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def kill(self) -> None:
        """At once, as by `kill -9`."""
        if self.poll() is None:
            os.kill(self.pid, 9)


class WriterParent:
    """The process that has imported all. It ends with this one, whose socket it reads."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        code = f"import sys; sys.path[:] = {sys.path!r}\n{_PARENT}"
        command = [sys.executable, "-I", "-c", code]
        with theirs:
            self._process = subprocess.Popen(command, stdin=theirs.fileno(), start_new_session=True)

    def ask(self, what: dict[str, Any], *handles: int) -> int:
        """A number for a question, with open files."""
        socket.send_fds(self._socket, [json.dumps(what).encode()], handles)
        return int(self._socket.recv(64))

    def start(self, file: RecordFile) -> WarmWriter:
        """A writer for that file: what `recorder._start` does."""
        with ExitStack() as theirs:
            read, stdin = os.pipe()
            theirs.callback(os.close, read)
            stdout, write = os.pipe()
            theirs.callback(os.close, write)
            asked = {
                "handle": file.handle,
                "environment": open_environment(os.environ),
                "folder": os.getcwd(),
            }
            pid = self.ask(asked, read, write, 2, file.handle)
        return WarmWriter(self, pid, os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"))


@cache
def _parent() -> WriterParent:
    return WriterParent()


def start_warm(file: RecordFile) -> Any:
    """Start a writer without the time that importing takes, where the system can."""
    if sys.platform != "linux":
        return _START(file)
    return _parent().start(file)
