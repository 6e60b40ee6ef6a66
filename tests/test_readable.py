"""The count of what makes code hard to read: each kind is found, and what is easy to read is not."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent

EASY = '''
def read_total(values):
    """Return the sum of the positive values."""
    positive = [value for value in values if value > 0]
    return sum(positive)
'''


@pytest.fixture(scope="module")
def readable() -> ModuleType:
    """packaging/readable.py as a module."""
    spec = importlib.util.spec_from_file_location("readable", ROOT / "packaging" / "readable.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["readable"] = module
    spec.loader.exec_module(module)
    return module


def kinds(readable: ModuleType, source: str) -> list[str]:
    return [place.kind for place in readable.inspect_module("a.py", source)]


def test_places_of_easy_code_are_none(readable: ModuleType) -> None:
    assert kinds(readable, EASY) == []


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("NESTED_COMPREHENSIONS", "a = [[x for x in y] for y in z]"),
        ("NESTED_CONDITIONALS", "a = 1 if x else 2 if y else 3"),
        ("VAGUE_NAMES", "told = 1"),
        ("VAGUE_NAMES", "def add(one): pass"),
        ("ODD_PHRASES", 'a = "nobody knows"'),
        ("ODD_PHRASES", 'def add():\n    """Add what stands there, of the list and the tuple."""'),
        ("SHORT_DOCSTRINGS", 'def add():\n    """A sum."""'),
        ("LONG_STATEMENTS", "a = " + " + ".join(f"f(x{n}, y{n})" for n in range(20))),
        (
            "TANGLED_FUNCTIONS",
            "def add(a):\n" + "".join(f"    if a == {n}:\n        a = {n}\n" for n in range(13)),
        ),
        ("DENSE_FILES", "a = f(b, c, d) or g(e, h) if i else j\n" * 41),
    ],
)
def test_places_of_hard_code_have_their_kind(readable: ModuleType, kind: str, source: str) -> None:
    assert set(kinds(readable, source)) == {getattr(readable, kind)}


def test_functions_of_one_name_in_two_modules_are_ambiguous_unless_called_as_hooks(
    readable: ModuleType,
) -> None:
    sources = {
        "a.py": "def find(): pass\ndef read(): pass",
        "b.py": "def find(): pass\ndef read(): pass",
    }
    assert [place.detail for place in readable.find_ambiguous(sources)] == ["find, also in b.py"]


def test_pages_with_an_odd_phrase_name_its_line(readable: ModuleType) -> None:
    (place,) = readable.inspect_page("a.md", "A buffer.\nIt stands there.\n")
    assert (place.path, place.line) == ("a.md", 2)


def test_counts_of_the_program_are_within_their_ceilings(readable: ModuleType) -> None:
    counts, _ = readable.measure()
    assert not {kind: count for kind, count in counts.items() if count > readable.CEILINGS[kind]}
    assert all(readable.AIMS[kind] <= ceiling for kind, ceiling in readable.CEILINGS.items())
