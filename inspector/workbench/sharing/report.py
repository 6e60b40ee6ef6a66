"""The contents of a report of a session, as sections of text and tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inspector.core.errors import InspectorError
from inspector.core.findings.answers import fullest_request, short_answers
from inspector.core.findings.breakdown import break_down, tool_calls
from inspector.core.findings.lost import CompactionLoss, recorded_losses
from inspector.core.findings.lost_rows import SHOWN, VERDICT_WORDS
from inspector.core.findings.spending import session_cost
from inspector.core.message import part_text
from inspector.core.session import Session, Thread
from inspector.core.tokens.pressure import Pressures, known_pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.words import dollars, part_title, per_cent
from inspector.workbench.sharing.page import ReportSection, TimelineData, write_page
from inspector.workbench.sharing.redaction import PrivateText, PrivateTexts, Redaction

_LONGEST_QUOTE = 20_000
"""Maximum number of characters of a quoted message."""
WindowAt = Callable[[int | None], int | None]
"""Returns the window in tokens at a request; None as the request means after the last one."""


@dataclass(frozen=True, slots=True)
class ReportDraft:
    """A report that has not been reviewed yet."""

    title: str
    sections: Sequence[ReportSection]
    timeline: TimelineData
    found: Sequence[PrivateText]
    """Texts in the report that look private."""

    def write(self, redaction: Redaction) -> str:
        """Return the HTML with private texts replaced by `redaction`."""
        sections = [_redact_section(section, redaction) for section in self.sections]
        return write_page(redaction.replace(self.title), sections, self.timeline)


def draft_report(
    session: Session, thread: Thread, window_at: WindowAt, messages: Sequence[str] = ()
) -> ReportDraft:
    """Prepare a report.

    Args:
        session: The session.
        thread: The thread that is described.
        window_at: Returns the window at a request.
        messages: Ids of messages to quote.

    Raises:
        InspectorError: A message is not in the thread.
    """
    title = f"Context report: {Path(session.path).name}"
    sections = _describe_session(session, thread, window_at, messages)
    private = PrivateTexts()
    private.add_text("title", title)
    for section in sections:
        for text in section.texts():
            private.add_text(section.title, text)
    pressures = known_pressures(thread)
    compactions = [compaction.before_request for compaction in thread.compactions]
    sizes = [pressure.tokens or 0 for pressure in pressures]
    timeline = TimelineData(sizes, window_at(None), compactions)
    return ReportDraft(title, sections, timeline, private.found)


def _redact_section(section: ReportSection, redaction: Redaction) -> ReportSection:
    rows = [list(map(redaction.replace, row)) for row in section.rows]
    return replace(
        section,
        title=redaction.replace(section.title),
        paragraphs=list(map(redaction.replace, section.paragraphs)),
        rows=rows,
        quotes=list(map(redaction.replace, section.quotes)),
    )


def _describe_session(
    session: Session, thread: Thread, window_at: WindowAt, messages: Sequence[str]
) -> list[ReportSection]:
    pressures = known_pressures(thread)
    answers = short_answers(session, thread, window_at)
    losses = recorded_losses(session, thread).each
    return [
        ReportSection("In three sentences", [answer.text for answer in answers]),
        _filling_section(session, thread, pressures),
        *(_loss_section(loss) for loss in losses),
        _cost_section(session),
        *_message_sections(thread, messages),
    ]


def _filling_section(session: Session, thread: Thread, pressures: Pressures) -> ReportSection:
    request = fullest_request(pressures)
    place = len(thread.requests) if request is None else request
    size = sizer(pressures, place)
    buffer = thread.place(place).buffer()
    tree = break_down(size, size.pressure, buffer, tool_calls(session, thread)).tree
    whole = max(tree.tokens, 1)
    nodes = [
        (depth, node) for depth, node in tree.walk() if 0 < depth < 3 and 100 * node.tokens >= whole
    ]
    rows = [
        (
            f"{'  ' * (depth - 1)}{part_title(node.name)}",
            f"{node.tokens:,}",
            per_cent(node.tokens / whole),
        )
        for depth, node in nodes
    ]
    heads = ("part", "tokens", "share")
    return ReportSection(
        f"What filled request {place}",
        paragraphs=["Parts of less than 1% are left out."],
        heads=heads,
        rows=rows,
        numbers=frozenset({1, 2}),
    )


def _loss_section(loss: CompactionLoss) -> ReportSection:
    rows = []
    for line in loss.shown[:SHOWN]:
        requests = sorted({use.request for row in line.rows for use in row.needed})
        rows.append(
            (VERDICT_WORDS[line.first.verdict], line.text, ", ".join(map(str, requests[:5])))
        )
    heads = ("verdict", "what", "needed again at")
    title = f"Lost by the compaction before request {loss.before_request:,}"
    return ReportSection(title, paragraphs=[loss.forgetting.sentence], heads=heads, rows=rows)


def _cost_section(session: Session) -> ReportSection:
    cost = session_cost(session)
    rows = [
        (model or "unknown model", dollars(subtotal.usd))
        for model, subtotal in cost.by_model.items()
    ]
    return ReportSection(
        "Cost", paragraphs=[], heads=("model", "cost"), rows=rows, numbers=frozenset({1})
    )


def _message_sections(thread: Thread, ids: Sequence[str]) -> list[ReportSection]:
    if not ids:
        return []
    by_id = {message.id: message for message in thread.messages}
    missing = [id_ for id_ in ids if id_ not in by_id]
    if missing:
        raise InspectorError(
            f"There is no message {missing[0]!r} in this thread; `buffer --json` lists the ids."
        )
    quotes = []
    for id_ in ids:
        text = "\n".join(filter(None, map(part_text, by_id[id_].parts)))
        quotes.append(f"{by_id[id_].role}\n\n{text[:_LONGEST_QUOTE]}")
    return [ReportSection("Chosen messages", quotes=quotes)]
