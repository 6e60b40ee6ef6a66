"""No command that an agent runs reads a key of ours, neither in its own environment nor in that of our processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.simulated.server import SimulatedServer
from tests.agent.running import call, opened, script

KEY = "sk-sealed-0123456789abcdef"
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


@linux
def test_a_command_of_the_agent_reads_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program itself, with keys in its environment; its command looks through every process. Root may look, too."""
    look = f"cat /proc/[0-9]*/environ /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n' | grep -c '{KEY[:5]}.*{KEY[9:]}'"
    script(monkeypatch, [call("run_command", command=look)], "Done.")
    (tmp_path / "work").mkdir()
    record = tmp_path / "run.jsonl"
    with SimulatedServer() as server:
        words = [
            "run",
            "--task",
            "Look.",
            "--workspace",
            str(tmp_path / "work"),
            "--record",
            str(record),
            "--yes",
        ]
        words += ["--provider", f"anthropic+{server.url}", "--model", "claude-simulated"]
        names = (
            "CONTEXT_INSPECTOR_API_KEY",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "DATABASE_URL",
        )
        subprocess.run(
            [sys.executable, "-m", "inspector", *words],
            env=os.environ | dict.fromkeys(names, KEY), check=True, timeout=120, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    results = [one.result.content for one in opened(record).main.messages if one.result]
    assert results == ["0\n[exit code 1]"]


_AS_USER = """
import ctypes, os, subprocess, sys
from inspector.safety.sealing import seal
if os.getuid() == 0:
    os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
look = "cd /proc/$PPID; cat environ | tr '\\\\0' '\\\\n' | grep -c SEALED_KEY; cat maps | wc -l; ls fd | wc -l"
def looked():
    env = {"PATH": os.environ["PATH"]}
    return subprocess.run(["/bin/sh", "-c", look], env=env, stdout=-1, stderr=-1, cwd="/").stdout.split()
print(looked())
seal()
print(looked(), os.environ["SEALED_KEY"], subprocess.getoutput("echo $SEALED_KEY $ANTHROPIC_API_KEY"), flush=True)
from inspector.safety.keys import find_key
print(find_key("anthropic").reveal())
"""


@linux
def test_another_process_of_the_same_user_sees_nothing(tmp_path: Path) -> None:
    """As an ordinary user: environment, memory map and descriptors are there to be read before, and not after."""
    told = subprocess.run(
        [sys.executable, "-c", _AS_USER],
        env=os.environ | {"SEALED_KEY": KEY, "ANTHROPIC_API_KEY": KEY}, check=True, timeout=60, stdout=subprocess.PIPE,
        text=True,
    ).stdout.splitlines()  # fmt: skip
    before = [int(one.strip("b'")) for one in told[0].strip("[]").split(", ")]
    assert before[0] == 1
    assert min(before) > 0
    assert told[1] == f"[b'0', b'0', b'0'] {KEY} {KEY}", (
        "we and who inherits from us still have what is not a key"
    )
    assert told[2] == KEY


@linux
def test_the_writer_of_a_recording_has_no_key(tmp_path: Path) -> None:
    """A process of ours that lives beside a run."""
    code = (
        "import sys; from pathlib import Path; from inspector.proxy.relay.server import ProxyServer\n"
        "proxy = ProxyServer('http://127.0.0.1:9', Path(sys.argv[1]))\n"
        "pid = proxy.recorder._writer.pid\n"
        "sys.stdout.write(Path(f'/proc/{pid}/environ').read_bytes().decode())\n"
        "proxy.close()"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "r.jsonl")],
        env=os.environ | {"AWS_SECRET_ACCESS_KEY": KEY}, check=True, timeout=60, stdout=subprocess.PIPE,
    ).stdout  # fmt: skip
    assert KEY.encode() not in shown
