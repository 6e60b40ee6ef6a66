"""The log of the wire holds what went over it, no more."""

from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import httpx2

from inspector.core.jsontext import loads
from inspector.simulated.server import SimulatedServer
from inspector.simulated.state import SimulatedServerState, WireLog


def test_an_answer_to_head_has_no_body(tmp_path: Path) -> None:
    """A client that only asks whether somebody is there gets headers."""
    log = WireLog(tmp_path / "wire.jsonl")
    with (
        SimulatedServer(SimulatedServerState(log=log)) as server,
        httpx2.Client(base_url=server.url, trust_env=False) as client,
    ):
        client.head("/")
        said = client.get("/").content
    log.close()
    head, get = (loads(line) for line in (tmp_path / "wire.jsonl").read_bytes().splitlines())
    assert head["sent"]["size"] == 0
    assert get["sent"]["sha256"] == sha256(said).hexdigest()


def test_the_half_of_an_answer_that_was_cut_is_told(tmp_path: Path) -> None:
    """What went out before the connection broke went out."""
    log = WireLog(tmp_path / "wire.jsonl")
    world = SimulatedServerState(log=log)
    world.faults.push("cut")
    asked = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    got = bytearray()
    with (
        SimulatedServer(world) as server,
        httpx2.stream(
            "POST", f"{server.url}/v1/chat/completions", json=asked, trust_env=False
        ) as answer,
        suppress(httpx2.RemoteProtocolError),
    ):
        for piece in answer.iter_raw():
            got += piece
    log.close()
    told = loads((tmp_path / "wire.jsonl").read_bytes())
    assert got
    assert told["sent"]["sha256"] == sha256(got).hexdigest()
