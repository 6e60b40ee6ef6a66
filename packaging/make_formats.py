"""Writes the table of docs/formats.md from what the formats say of themselves: python packaging/make_formats.py"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from inspector.core.dialects.catalogue import DIALECTS  # noqa: E402
from inspector.core.export import WRITERS  # noqa: E402
from inspector.core.formats.detect import FORMATS  # noqa: E402
from inspector.core.formats.format import AgentFolder  # noqa: E402

PAGE = ROOT / "docs" / "formats.md"
TABLE = re.compile(r"^\| format \|.*?\n\n", re.DOTALL | re.MULTILINE)


def main() -> None:
    """Put the table into the page, in the place of the former one."""
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def with_table(page: str) -> str:
    """The page with the table as it should be."""
    return TABLE.sub(lambda _: "\n".join([*_rows(), "", ""]), page, count=1)


def _rows() -> Iterator[str]:
    yield "| format | what it is | can be | found | tokens of a call | system prompt | tools |"
    yield "|---|---|---|---|---|---|---|"
    for one in FORMATS:
        told = one.contents
        what = f"{one.title}: {told.more}" if told.more else one.title
        uses = ["followed"] if one.grows else []
        uses += ["exported"] if one.name in DIALECTS or one.name in WRITERS else []
        cells = [f"`{one.name}`", what, ", ".join(uses), _found_in(one.folders)]
        yield f"| {' | '.join([*cells, told.tokens, told.system, told.tools])} |"


def _found_in(folders: Sequence[AgentFolder]) -> str:
    """Return where sessions are found, each place once; those of macOS are on the page in words."""
    places: list[str] = []
    for folder in folders:
        if folder.under.startswith("Library"):
            continue
        fixed = folder.pattern.split("/")[:-1]
        while fixed and fixed[-1] == "*":
            fixed.pop()
        path = "/".join(part for part in ("~", folder.under, *fixed) if part)
        variable = f" ({folder.variable})" if folder.variable else ""
        places.append(f"`{path}`{variable}")
    return ", ".join(dict.fromkeys(places))


if __name__ == "__main__":
    main()
