"""Who plays what: every actor, on each of its wires, in each scenario that it can play."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients import claude_code, codex, gemini_cli, opencode, pi
from tests.clients.actor import Actor
from tests.clients.scenarios import SCENARIOS

ACTORS: tuple[Actor, ...] = (
    pi.ACTOR,
    codex.ACTOR,
    claude_code.ACTOR,
    opencode.ACTOR,
    gemini_cli.ACTOR,
)


def cases() -> list[Any]:
    """(actor, wire, scenario)."""
    return list(_cases())


def _cases() -> Iterator[Any]:
    for actor in ACTORS:
        for wire, trait in actor.wires.items():
            for scenario in SCENARIOS:
                if not scenario.tiny or trait.compacts_at:
                    yield pytest.param(
                        actor, wire, scenario, id=f"{actor.name}-{wire}-{scenario.name}"
                    )


def actors() -> list[Any]:
    """(actor, wire)."""
    return [
        pytest.param(actor, wire, id=f"{actor.name}-{wire}")
        for actor in ACTORS
        for wire in actor.wires
    ]
