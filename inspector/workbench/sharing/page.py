"""The HTML of a report: one file that loads nothing and needs no script. Every text is escaped."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from inspector.core.words import plural

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --dim: #5d6872; --back: #ffffff; --line: #d9dee3; --bar: #3b7dd8;
  --warm: #c9740a; --hot: #c0392b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --dim: #9aa5af; --back: #15191d; --line: #333b43;
  --bar: #6ea8ff; --warm: #e9a23b; --hot: #ff7b6b; } }
body { background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 60rem; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } td, th { border-bottom: 1px solid var(--line); padding: .3rem .5rem;
  text-align: left; vertical-align: top; }
th { overflow-wrap: normal; } td.number, th.number { text-align: right; white-space: nowrap; }
.dim { color: var(--dim); } svg { width: 100%; height: auto; }
td:first-child { white-space: pre-wrap; min-width: 4rem; }
pre { white-space: pre-wrap; border: 1px solid var(--line); padding: .6rem; max-height: 30rem; overflow: auto; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_WIDTH, _HEIGHT, _LEFT = 960, 220, 60


@dataclass(frozen=True, slots=True)
class TimelineData:
    """Sizes of the requests in tokens, for the picture of the timeline."""

    tokens: Sequence[int]
    window: int | None
    compactions: Sequence[int]
    """Indices of the requests before which the buffer was compacted."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A heading with paragraphs, a table and quotations."""

    title: str
    paragraphs: Sequence[str] = ()
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    numbers: frozenset[int] = frozenset()
    """Indices of the columns that are aligned to the right."""
    quotes: Sequence[str] = ()

    def texts(self) -> Iterator[str]:
        """Yield every text of the section."""
        yield self.title
        yield from self.paragraphs
        yield from self.quotes
        for row in self.rows:
            yield from row


def write_page(title: str, sections: Iterable[ReportSection], timeline: TimelineData) -> str:
    """Return the whole HTML file. The timeline follows the first section."""
    body = [f"<h1>{escape(title)}</h1>"]
    for index, section in enumerate(sections):
        body += _write_section(section)
        if index == 0:
            body += ["<h2>Timeline</h2>", draw_timeline(timeline)]
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            *body,
            "</body></html>\n",
        ]
    )


def _write_section(section: ReportSection) -> Iterator[str]:
    yield f"<h2>{escape(section.title)}</h2>"
    yield from (f"<p>{escape(text)}</p>" for text in section.paragraphs)
    if section.rows:
        yield f"<table><tr>{_write_cells('th', section.heads, section.numbers)}</tr>"
        yield from (f"<tr>{_write_cells('td', row, section.numbers)}</tr>" for row in section.rows)
        yield "</table>"
    yield from (f"<pre>{escape(text)}</pre>" for text in section.quotes)


def _write_cells(tag: str, cells: Sequence[str], numbers: frozenset[int]) -> str:
    kinds = (' class="number"' if index in numbers else "" for index in range(len(cells)))
    return "".join(
        f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True)
    )


def draw_timeline(data: TimelineData) -> str:
    """Draw the size of each request as SVG, with the lines at 60% and 75% and the compactions."""
    if not data.tokens:
        return '<p class="dim">The file records no request.</p>'
    top = max(data.window or 0, max(data.tokens), 1)
    step = (_WIDTH - _LEFT) / len(data.tokens)
    points = " ".join(
        f"{_LEFT + (index + 0.5) * step:.1f},{_place(size, top)}"
        for index, size in enumerate(data.tokens)
    )
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 30}" role="img" aria-label="Tokens of each request">'
    ]
    for share, ink in ((0.6, "warm"), (0.75, "hot"), (1.0, "dim")) if data.window else ():
        y = _place(round(share * (data.window or 0)), top)
        parts.append(
            f'<line x1="{_LEFT}" y1="{y}" x2="{_WIDTH}" y2="{y}" stroke="var(--{ink})" stroke-dasharray="4 4"/>'
        )
        parts.append(
            f'<text x="0" y="{y + 4}" font-size="12" fill="var(--{ink})">{round(100 * share)}%</text>'
        )
    for request in data.compactions:
        x = f"{_LEFT + request * step:.1f}"
        parts.append(f'<line x1="{x}" y1="0" x2="{x}" y2="{_HEIGHT}" stroke="var(--dim)"/>')
        parts.append(
            f'<text x="{x}" y="{_HEIGHT + 8}" font-size="12" fill="var(--dim)">{request:,}</text>'
        )
    parts.append(f'<polyline points="{points}" fill="none" stroke="var(--bar)" stroke-width="2"/>')
    legend = f"{plural(len(data.tokens), 'request')}. Vertical lines are compactions, each with the request after it."
    parts.append(
        f'<text x="{_LEFT}" y="{_HEIGHT + 22}" font-size="12" fill="var(--dim)">{legend}</text></svg>'
    )
    return "\n".join(parts)


def _place(tokens: int, top: int) -> float:
    return round(_HEIGHT - (_HEIGHT - 10) * tokens / top, 1)
