"""What the documentation shows is what the code does."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from inspector.core.formats.detect import FORMATS, detect
from inspector.core.formats.format import Format, Head
from inspector.core.jsontext import loads
from inspector.core.message import Json

ROOT = Path(__file__).resolve().parent.parent


def _blocks(kind: str) -> list[str]:
    text = (ROOT / "docs" / "add-a-format.md").read_text(encoding="utf-8")
    return re.findall(rf"```{kind}\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture
def acorn() -> Format:
    """The format that docs/add-a-format.md builds, as it stands there."""
    module = ModuleType("acorn")
    (source,) = _blocks("python")
    exec(compile(source, "docs/add-a-format.md", "exec"), module.__dict__)
    assert isinstance(module.FORMAT, Format)
    return module.FORMAT


def test_the_format_of_the_documentation_reads_its_transcript(acorn: Format) -> None:
    (lines,) = _blocks("json")
    values = [loads(line.encode()) for line in lines.splitlines()]
    others = [known for known in FORMATS if known.name != acorn.name]
    assert detect(Head(values), formats=(*others, acorn)) is acorn
    reader = acorn.start()
    for number, value in enumerate(values, 1):
        reader.feed(number, value)
    (request,) = reader.session().main.requests
    assert [message.text for message in request.buffer().messages] == ["How full is the window?"]
    assert request.usage
    assert (request.model, request.usage.prompt, request.usage.output) == ("oak-2", 18, 2)
    assert len(reader.session().main.end) == 2


def test_it_lists_what_it_cannot_read(acorn: Format) -> None:
    reader = acorn.start()
    values: list[Json] = [
        None,
        [],
        {"role": "user"},
        {"role": "assistant", "text": "x", "prompt_tokens": "many"},
    ]
    for value in values:
        reader.feed(1, value)
    session = reader.session()
    assert len(session.problems) == 3
    assert session.main.requests[0].usage is None


def test_every_link_leads_to_a_file() -> None:
    """Links in README and docs that stay in the repository."""
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def _anchor(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    words = re.sub(r"[`*]|[^\w\s-]", "", heading.lower())
    return words.strip().replace(" ", "-")


def test_every_link_to_a_heading_leads_to_one() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text("utf-8")):
            linked = (page.parent / target) if target else page
            headings = re.findall(r"^#+ (.*)$", linked.read_text("utf-8"), flags=re.MULTILINE)
            assert anchor in map(_anchor, headings), f"{page.name} links to {target}#{anchor}"


def test_the_table_of_formats_is_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """If not: python packaging/make_formats.py"""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assert importlib.import_module("make_formats").with_table(page) == page
    rows = re.findall(r"^\| `([^`]+)` \|", page, flags=re.MULTILINE)
    assert rows == [one.name for one in FORMATS]


def test_every_picture_is_shown_somewhere() -> None:
    """What `make screenshots` takes and nobody shows is not kept."""
    pages = (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    shown = {
        (page.parent / target).resolve()
        for page in pages
        for target in re.findall(r"!\[[^\]]*\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    }
    kept = {picture.resolve() for picture in (ROOT / "docs").rglob("*.png")}
    assert kept <= shown
    assert all(picture.stat().st_size <= 350_000 for picture in kept)
