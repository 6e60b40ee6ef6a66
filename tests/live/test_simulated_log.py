"""The log of the wire holds what went over it, no more."""

from hashlib import sha256
from pathlib import Path

import httpx2

from inspector.core.jsontext import loads
from inspector.live.simulated.server import SimulatedServer
from inspector.live.simulated.wire_log import WireLog
from inspector.live.simulated.world import World


def test_an_answer_to_head_has_no_body(tmp_path: Path) -> None:
    """A client that only asks whether somebody is there gets headers."""
    log = WireLog(tmp_path / "wire.jsonl")
    with SimulatedServer(World(log=log)) as server, httpx2.Client(base_url=server.url, trust_env=False) as client:
        client.head("/")
        said = client.get("/").content
    log.close()
    head, get = (loads(line) for line in (tmp_path / "wire.jsonl").read_bytes().splitlines())
    assert head["sent"]["size"] == 0
    assert get["sent"]["sha256"] == sha256(said).hexdigest()
