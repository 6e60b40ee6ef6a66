"""The stage for real agents: skipped, with the reason, where this machine has none or the agent is not there."""

import importlib
import shutil
from collections.abc import Callable, Hashable
from pathlib import Path
from types import ModuleType

import pytest

from tests.clients.actor import ROOT, Actor
from tests.clients.playing import Played, play, unshare, why_not
from tests.clients.scenarios import Scenario


@pytest.fixture(scope="session")
def spaces() -> list[str]:
    """The command that puts a play into a network of its own."""
    command = unshare()
    if command is None:
        pytest.skip(
            "real agents are only run where they reach nothing: `unshare --net --pid` is not allowed here"
        )
    return command


class Plays:
    """What was played, each once: several tests look at the same play."""

    def __init__(self, spaces: list[str], folder: Path) -> None:
        self.spaces, self._folder = spaces, folder
        self._known: dict[Hashable, Played] = {}

    def once(self, name: str, made: Callable[[Path], Played]) -> Played:
        """The play of that name, put on in a folder of its own where it was not yet."""
        if name not in self._known:
            self._known[name] = made(self._folder / name)
        return self._known[name]

    def through(self, actor: Actor, wire: str, scenario: Scenario) -> Played:
        """A scenario with the proxy between."""
        trait = actor.wires[wire]
        return self.once(
            f"{actor.name}-{wire}-{scenario.name}",
            lambda folder: play(
                self.spaces,
                folder / "play",
                actor,
                wire,
                simulate=scenario.provider(trait),
                limits=scenario.limits(trait),
                proxy=scenario.proxy(trait),
                pause_s=scenario.pause_s,
            ),
        )

    def direct(self, actor: Actor, wire: str, scenario: Scenario) -> Played:
        """The same without it, in a folder of the same name: it stands in what an agent says. Before the other."""
        trait = actor.wires[wire]
        name = f"{actor.name}-{wire}-{scenario.name}"
        assert name not in self._known, "the folder is in use"
        folder = self._folder / name / "play"
        options, limits = scenario.provider(trait), scenario.limits(trait)
        played = play(self.spaces, folder, actor, wire, simulate=options, limits=limits)
        shutil.rmtree(self._folder / f"{name}-direct", ignore_errors=True)
        shutil.move(folder, self._folder / f"{name}-direct")
        return played


@pytest.fixture(scope="session")
def plays(spaces: list[str], tmp_path_factory: pytest.TempPathFactory) -> Plays:
    """All that is played in this run."""
    return Plays(spaces, tmp_path_factory.mktemp("plays"))


@pytest.fixture
def comparison(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The comparison that docs/fidelity.md is made with."""
    monkeypatch.syspath_prepend(ROOT / "packaging")
    return importlib.import_module("bodies")


def skip_where_missing(actor: Actor) -> None:
    """Skips, with the reason, where the agent is not installed."""
    if why := why_not(actor.name):
        pytest.skip(why)
