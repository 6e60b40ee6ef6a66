"""Policies of the house, of plug-ins, and of a file."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import POLICIES
from inspector.extensions import policies as user_policies
from inspector.extensions.policies import all_policies, find_policy, load_file

MINE = """
from inspector.core.policies.none import NonePolicy

class Mine(NonePolicy):
    name = "{name}"

POLICY = Mine()
"""


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Entry points that the test adds to."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(user_policies, "entry_points", lambda group: points)
    all_policies.cache_clear()
    monkeypatch.setattr(user_policies, "all_policies", all_policies.__wrapped__)
    return points


def file(tmp_path: Path, text: str, name: str = "mine.py") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", [*POLICIES, "ROKU", " codex "])
def test_the_house_is_known(name: str) -> None:
    assert find_policy(name) is POLICIES[name.strip().lower()]


def test_a_file_holds_a_policy(tmp_path: Path) -> None:
    path = file(tmp_path, MINE.format(name="mine"))
    found = find_policy(str(path))
    assert found.name == "mine"
    assert find_policy(str(path)) is found
    path.write_text(MINE.format(name="changed"))
    assert find_policy(str(path)).name == "changed"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("POLICY = 3", "holds no policy: it lacks name"),
        ("x = 1", "has no POLICY"),
        ("1 / 0", "could not be run: ZeroDivisionError"),
        ("def broken(:", "could not be run: SyntaxError"),
        ("raise SystemExit", "could not be run: SystemExit"),
    ],
)
def test_a_file_without_one_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InspectorError, match=sentence) as told:
        load_file(file(tmp_path, text))
    assert "\n" not in str(told.value)
    with pytest.raises(InspectorError, match="No such file"):
        load_file(tmp_path / "absent.py")


def test_an_unknown_name_is_one_sentence() -> None:
    with pytest.raises(InspectorError, match="Known: roku"):
        find_policy("gut-feeling")


def test_plugins_join_the_house(plugins: list[EntryPoint]) -> None:
    plugins += [
        EntryPoint("good", "inspector.core.policies.none:POLICY", user_policies.GROUP),
        EntryPoint("absent", "no_such_module:POLICY", user_policies.GROUP),
        EntryPoint("wrong", "inspector.core.policies.none:NonePolicy.title", user_policies.GROUP),
    ]
    found, notes = user_policies.all_policies()
    assert list(found) == list(POLICIES)
    assert len(notes) == 3
    assert "'none', which is taken" in notes[0]
    assert "ModuleNotFoundError" in notes[1]
    assert "holds no policy" in notes[2]


def test_a_plugin_is_found_by_its_name(
    plugins: list[EntryPoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file(tmp_path, MINE.format(name="mine"), "acorn_policies.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.append(EntryPoint("mine", "acorn_policies:POLICY", user_policies.GROUP))
    assert find_policy("mine").title == "No compaction"


def test_menu_offers_the_house_the_plugins_and_the_chosen_file(
    plugins: list[EntryPoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file(tmp_path, MINE.format(name="mine") + "\nPOLICY.title = 'Oak'\n", "oak_policies.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.append(EntryPoint("mine", "oak_policies:POLICY", user_policies.GROUP))
    chosen = str(file(tmp_path, MINE.format(name="own")))
    offered = user_policies.offered_policies(chosen)
    assert list(offered) == [*POLICIES, "mine", chosen]
    assert offered["mine"] == "Oak"
    assert offered[chosen] == "No compaction (mine.py)"
    assert user_policies.offered_policies("roku").keys() == {*POLICIES, "mine"}


def test_plugin_that_raises_is_one_sentence_with_its_line(
    plugins: list[EntryPoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = MINE.format(name="elm").replace(
        "POLICY = ", "    def due(self, context):\n        return context.nothing\n\nPOLICY = "
    )
    file(tmp_path, broken, "elm_policies.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.append(EntryPoint("elm", "elm_policies:POLICY", user_policies.GROUP))
    policy = find_policy("elm")
    assert policy.reference == "elm"
    with pytest.raises(InspectorError, match=r"^The policy plug-in 'elm', line 8: AttributeError"):
        policy.due(None)  # type: ignore[arg-type]
