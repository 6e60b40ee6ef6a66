"""Rebuilt buffers explain what the providers reported, as well as is asked, on every real session at hand."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from inspector.core.tokens.growth import quantile

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def fidelity(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return importlib.import_module("make_fidelity")


def test_every_format_is_as_good_as_asked(fidelity: ModuleType, shared: Path) -> None:
    measured = [one for one in fidelity.measure(shared) if one.complete]
    for name, (title, median, low) in fidelity.FORMATS.items():
        found = sorted(one.fit.r2 for one in measured if one.session.format == name)
        assert found, title
        assert (quantile(found, 0.5) or 0) >= median, title
        assert low is None or (quantile(found, 0.1) or 0) >= low, title


def test_the_page_is_made_of_figures(fidelity: ModuleType) -> None:
    text = "\n".join(fidelity.page(list(fidelity.measure(ROOT / "resources"))))
    assert "| `sample.jsonl` | Claude Code 2.1.62 | 132 | 1 | tiktoken |" in text
    assert "rounding" not in text, "no contents"
