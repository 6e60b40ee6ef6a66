"""The program as real processes that need no start: forked from one that has imported all, each can be killed.

`test_main.py` and others start it as people do; here it is started again and again.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_PARENT = """
import json, os, sys

sys.path[0] = os.getcwd()
import anthropic, openai, openai.resources.chat, openai.resources.responses
import inspector.agent.runner, inspector.cli.run
from inspector.__main__ import main
from inspector.core.tokens.counted import count_tokens

count_tokens("words", "o200k_base")
for line in sys.stdin:
    told = json.loads(line)
    if "wait" in told:
        print(os.waitstatus_to_exitcode(os.waitpid(told["wait"], 0)[1]), flush=True)
    elif child := os.fork():
        print(child, flush=True)
    else:
        os.chdir(told["folder"])
        for number, path in enumerate((os.devnull, told["output"], told["errors"])):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
        sys.stdin = open(0, closefd=False)
        sys.argv = ["inspector", *told["words"]]
        code = 1
        try:
            code = main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
"""


class WarmProgram:
    """One process. `wait` gives its exit code: negative where a signal ended it."""

    def __init__(self, starter: "WarmStarter", pid: int, output: Path) -> None:
        self.pid, self.output = pid, output
        self._starter = starter
        self._code: int | None = None

    def kill(self) -> None:
        """At once, as by `kill -9`."""
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)

    def is_over(self) -> bool:
        """Has it ended, by itself or killed?"""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"

    def wait(self) -> int:
        """Until it has ended."""
        if self._code is None:
            self._code = self._starter.ask(wait=self.pid)
        return self._code


class WarmStarter:
    """The process that has imported all."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", _PARENT]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT)
        self._count = 0

    def ask(self, **told: Any) -> int:
        """A number for a question."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{json.dumps(told)}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def start(self, folder: Path, *words: str) -> WarmProgram:
        """`inspector WORDS` in that folder; what it prints goes to files there."""
        self._count += 1
        output, errors = (folder / f".{kind}-{self._count}" for kind in ("output", "errors"))
        output.touch()
        pid = self.ask(folder=str(folder), words=words, output=str(output), errors=str(errors))
        return WarmProgram(self, pid, output)

    def close(self) -> None:
        """No more of them."""
        with suppress(OSError):
            self._process.kill()
        self._process.communicate()


@contextmanager
def warm_starter() -> Iterator[WarmStarter]:
    """One for as long as it is needed."""
    starter = WarmStarter()
    try:
        yield starter
    finally:
        starter.close()
