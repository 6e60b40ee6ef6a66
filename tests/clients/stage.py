"""The stage: one play in a network of its own, in which there is nothing but this machine's loopback.

Run as the first process of a new process namespace (see `playing.py`): when it ends, everything that was started on it
ends too, daemons included. Reads its play from `play.json` in the folder it is given, writes what came of it there.
"""

import fcntl
import json
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

AT, BEHIND = 8099, 8100
"""The port that the client knows, and that of the provider behind a proxy."""
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _UP = 0x8913, 0x8914, 0x1
_END_S = 10.0


def main(folder: Path) -> None:
    """Play what `play.json` says; `result.json` says how it went."""
    play = json.loads((folder / "play.json").read_text())
    _loopback_up()
    with ExitStack() as running:
        log = ["--log", str(folder / "wire.jsonl")]
        _served(
            running,
            folder,
            play,
            "simulate",
            ["--port", str(BEHIND if play["proxy"] is not None else AT), *log],
        )
        if play["proxy"] is not None:
            to = ["--upstream", f"http://127.0.0.1:{BEHIND}", "--port", str(AT)]
            _served(
                running, folder, play, "proxy", [*to, "--record", str(folder / "recording.jsonl")]
            )
        ways = [
            partial(_run, folder, n, step, play["environment"])
            for n, step in enumerate(play["steps"])
        ]
        if play["at_once"]:
            with ThreadPoolExecutor(len(ways)) as threads:
                results = [one.result() for one in [threads.submit(way) for way in ways]]
        else:
            results = [way() for way in ways]
    (folder / "result.json").write_text(json.dumps(results))


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(asked, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(asked, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def _served(
    running: ExitStack, folder: Path, play: dict[str, Any], name: str, more: list[str]
) -> None:
    """Start one of our own commands; returns once it listens, and has it end with the stage."""
    err: Any = running.enter_context((folder / f"{name}.stderr").open("wb"))
    stdin: Any = subprocess.DEVNULL
    if name == "proxy" and play["pause_s"]:
        person, terminal = pty.openpty()
        threading.Thread(target=_answer, args=(person, err, play["pause_s"]), daemon=True).start()
        stdin = err = terminal
    command = [sys.executable, "-m", "inspector", name, *more, *(play[name] or [])]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        command, cwd=play["root"], env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=err
    )
    running.callback(_ended, process)
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    if not line.startswith("listening on "):
        raise SystemExit(f"{name} did not start: {(folder / f'{name}.stderr').read_text()[-2000:]}")


def _answer(person: int, log: Any, pause_s: float) -> None:
    """Sits at the proxy's terminal: lets every held request go as it was, after a while."""
    while True:
        try:
            said = os.read(person, 65_536)
        except OSError:
            return
        log.write(said)
        log.flush()
        if said.rstrip().endswith(b"rop:"):
            time.sleep(pause_s)
            os.write(person, b"f\n")


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _run(folder: Path, n: int, step: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    """One command of the client, with nothing of our own environment; its whole group ends when its time is over."""
    begun = time.monotonic()
    with (folder / f"{n}.stdout").open("wb") as out, (folder / f"{n}.stderr").open("wb") as err:
        process = subprocess.Popen(
            step["command"],
            cwd=folder / step["folder"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(step["seconds"])
        except subprocess.TimeoutExpired:
            status = None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return {"status": status, "seconds": round(time.monotonic() - begun, 2)}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
