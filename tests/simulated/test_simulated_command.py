"""`context-inspector simulate`, as it is typed."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from inspector.cli.main import main
from inspector.core.needs import Summarize
from inspector.providers.answerers import answerer

COMMAND = [sys.executable, "-m", "inspector", "simulate"]


@contextmanager
def _running(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen(
        [*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()


def test_it_says_where_it_listens_and_ends_when_told() -> None:
    with _running("--window", "40", "--fault", "429:7", "--fault", "ok*9") as (process, line):
        url = line.removeprefix("listening on ").strip()
        assert url.startswith("http://127.0.0.1:")
        body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hello"}]}
        with httpx2.Client(base_url=url, trust_env=False) as client:
            assert [client.post("/v1/messages", json=body).status_code for _ in range(2)] == [
                429,
                200,
            ]
            long = {**body, "messages": [{"role": "user", "content": "word " * 100}]}
            assert "> 40 maximum" in client.post("/v1/messages", json=long).text
        with answerer(url, "m") as answer:
            assert answer(Summarize("Summarise.", "x")).text
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stderr
        assert "Traceback" not in process.stderr.read()


def test_what_is_wrong_is_one_sentence(capsys: object) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for options in (
            ["--port", port],
            ["--port", "70000"],
            ["--fault", "nonsense"],
            ["--window", "0"],
        ):
            assert main(["simulate", *options]) == 1
