"""The README shows what the program prints and names files that exist."""

import re
from pathlib import Path

import pytest

from inspector.cli import main as cli
from inspector.core.formats.detect import FORMATS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_three_sentences_of_the_readme_are_what_info_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cli.main(["info", str(ROOT / "resources" / "sample.jsonl")])
    answers = capsys.readouterr().out.split("\n\n")[0]
    assert re.findall(r"```text\n(.*?)\n```", README, flags=re.DOTALL) == [answers]


def test_number_of_formats_in_the_readme_is_the_number_that_can_be_read() -> None:
    assert f"| {len(FORMATS)} formats |" in README


@pytest.mark.parametrize(
    "page", [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")], ids=lambda path: path.stem
)
def test_links_of_a_page_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert not [target for target in targets if not (page.parent / target).exists()]
