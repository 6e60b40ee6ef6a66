"""Commands: their output, their end, and that nothing is left of them; no key of ours reaches one."""

import os
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from inspector.agent.tools.common import ToolLimits
from inspector.agent.tools.toolbox import Toolbox
from inspector.core.message import ToolCall
from tests.agent.tools.conftest import Do

DAEMON = (
    "env -i setsid sh -c '(setsid sh -c"
    ' "exec >/dev/null 2>&1 </dev/null; echo \\$\\$ > daemon; exec sleep 300" &) &\';'
    " until [ -s daemon ]; do sleep 0.01; done; cat daemon; {}"
)
"""A double fork into sessions of its own, without the environment, all its streams elsewhere."""


def _alive(process: int) -> bool:
    """Zombies do not count."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _gone(process: int) -> bool:
    until = time.monotonic() + 10
    while _alive(process) and time.monotonic() < until:
        time.sleep(0.01)
    return not _alive(process)


def test_output_and_code(do: Do, workspace: Path) -> None:
    """Both streams, the exit code; a code other than 0 is an error."""
    result = do("run_command", command="pwd; echo err >&2; exit 3")
    assert result.content == f"{workspace}\nerr\n[exit code 3]"
    assert result.is_error
    assert do("run_command", command="true").content == "[exit code 0]"
    assert do("run_command", command="cat").content == "[exit code 0]", "there is nothing to read"
    assert "[exit code -9]" in do("run_command", command="kill -9 $$").content


def test_no_secret_reaches_a_command(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is an allow-list."""
    for name in (
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "LC_SECRET_KEY",
        "X",
    ):
        monkeypatch.setenv(name, "hidden-value")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    shown = do("run_command", command="env").content
    assert "hidden-value" not in shown
    assert "LC_ALL=C.UTF-8" in shown
    assert "PATH=" in shown


def test_time_is_limited(do: Do) -> None:
    """What was printed before is kept."""
    result = do("run_command", command="echo begun; sleep 60", timeout_s=1)
    assert result.content == "begun\n[ended: it ran for longer than 1 s]"
    assert result.is_error


@pytest.mark.parametrize(
    "command",
    [
        "sleep 300 & echo $!; wait",
        "(sleep 300 & echo $!); sleep 300",
        "setsid sleep 300 & echo $!; sleep 300",
        "nohup setsid sh -c 'sleep 300; :' >/dev/null 2>&1 & echo $!; sleep 300",
        "trap '' TERM INT HUP; echo $$; while :; do sleep 1; done",
        DAEMON.format("sleep 60"),
        "(env -i sh -c 'sleep 300 & echo $!'); sleep 300",
    ],
)
def test_grandchildren_end_too(do: Do, command: str) -> None:
    """Also those in a session of their own, and those that hear no signal."""
    process = int(do("run_command", command=command, timeout_s=1).content.split()[0])
    assert _gone(process)


def test_a_daemon_ends_with_its_command(do: Do) -> None:
    """It has left session, parents and environment, and nothing of it is open to us: it ends all the same, at once."""
    started = time.monotonic()
    result = do("run_command", command=DAEMON.format("exit 4"))
    assert result.content.endswith("[exit code 4]")
    assert _gone(int(result.content.split()[0]))
    assert time.monotonic() - started < 30


def test_what_forks_without_end_is_ended(do: Do) -> None:
    """Each process starts the next one and goes."""
    flees = (
        "import os,time\nos.setsid()\nuntil=time.time()+20\nwhile time.time()<until:\n if os.fork(): os._exit(0)\n"
        " open('alive','a').write('x')"
    )
    do("run_command", command=f"env -i {sys.executable} -c {shlex.quote(flees)} & sleep 0.3")
    before = do("run_command", command="wc -c < alive").content
    time.sleep(0.2)
    assert do("run_command", command="wc -c < alive").content == before
    assert int(before.split()[0]) > 3


def test_a_keeper_that_its_command_ends_takes_the_command_along(do: Do) -> None:
    """What is left of the session, and what carries the mark."""
    result = do(
        "run_command", command="sleep 300 & echo $! $$; kill -9 $PPID; sleep 300", timeout_s=5
    )
    assert all(_gone(int(process)) for process in result.content.split()[:2])


def test_what_a_command_leaves_behind_ends_with_it(do: Do) -> None:
    """It holds the pipe open: that is not waited for."""
    started = time.monotonic()
    result = do("run_command", command="sleep 300 & echo $!")
    assert result.content.endswith("[exit code 0]")
    assert _gone(int(result.content.split()[0]))
    assert time.monotonic() - started < 60


def test_a_command_that_closes_its_output_is_waited_for(do: Do) -> None:
    """Its end counts, not its silence."""
    assert do("run_command", command="exec >&- 2>&-; sleep 0.3; exit 5").content == "[exit code 5]"


def test_stopping(workspace: Path) -> None:
    """From another thread, at once, children included."""
    stop, begun = threading.Event(), time.monotonic()
    with Toolbox(workspace) as tools:
        threading.Timer(0.3, stop.set).start()
        call = ToolCall("c", "run_command", {"command": "sleep 300 & echo $!; wait"})
        result = tools.run(call, cancelled=stop.is_set).result
    assert result is not None
    assert result.content.endswith("[ended: it was stopped]")
    assert _gone(int(result.content.split()[0]))
    assert time.monotonic() - begun < 60


def test_output_is_limited(workspace: Path) -> None:
    """Head and tail, and how much is missing between."""
    with Toolbox(workspace, ToolLimits(output_bytes=1_000)) as tools:
        call = ToolCall("c", "run_command", {"command": "seq 1 200000"})
        result = tools.run(call).result
    assert result is not None
    assert result.content.startswith("1\n2\n3\n")
    assert result.content.endswith("199999\n200000\n[exit code 0]")
    assert "… 1,287,895 bytes left out …" in result.content
    assert len(result.content) < 1_100


def test_output_that_is_no_text(do: Do) -> None:
    """Every provider takes it."""
    content = do("run_command", command=r"printf 'a\000b\377c'").content
    content.encode("utf-8")
    assert "\0" not in content


def test_signals_of_ours_do_not_reach_it(do: Do) -> None:
    """It runs in a session of its own."""
    result = do("run_command", command="ps -o sid= -p $$ 2>/dev/null || echo $$")
    assert int(result.content.split()[0]) != os.getsid(0)


def test_a_command_does_not_outlive_the_program(workspace: Path) -> None:
    """Killed without a chance to clear up, it takes its command along."""
    script = (
        "import sys; from pathlib import Path; from inspector.core.message import ToolCall;"
        "from inspector.agent.tools.toolbox import Toolbox;"
        "Toolbox(Path(sys.argv[1])).run(ToolCall('c', 'run_command', {'command': 'echo $$ > pid; sleep 300 & wait'}))"
    )
    program = subprocess.Popen([sys.executable, "-c", script, str(workspace)])
    until, pid = time.monotonic() + 30, workspace / "pid"
    while not (pid.exists() and pid.read_text().strip()) and time.monotonic() < until:
        time.sleep(0.01)
    program.kill()
    program.wait()
    assert _gone(int(pid.read_text()))


def test_the_shell_is_an_ordinary_one(do: Do) -> None:
    """Quotes, several lines, nothing but its own arguments and descriptors; its own children are waited for."""
    said = do("run_command", command='echo "a  $((1+1))"; echo \'$x\'\necho "$0" "$#"').content
    assert said == "a  2\n$x\nsh 0\n[exit code 0]"
    assert do("run_command", command="(: <&3) 2>/dev/null || echo closed").content.startswith(
        "closed"
    )
    assert do("run_command", command="(sleep 0.2; echo late) & wait").content.startswith("late")
