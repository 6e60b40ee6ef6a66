"""The ways to forward a held request, one per row: what changes, the tokens before and after, and later the report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QAbstractItemView, QSizePolicy

from inspector.core.facts.index import lost
from inspector.core.words import per_cent, plural
from inspector.gui.look.number_formats import grouped
from inspector.gui.widgets.table import Column, Rows
from inspector.proxy.holds.compacting import DUE, Proposal, count_fates
from inspector.proxy.holds.hold import HoldInfo
from inspector.workbench.live import Prospect
from inspector.workbench.steps import Steps

UNCHANGED, STEPPED = "as the client sent it", "with the user's steps"
"""Keys of the choices that involve no policy."""


@dataclass(frozen=True, slots=True)
class HoldChoice:
    """One way to forward a held request."""

    key: str
    """UNCHANGED, STEPPED, DUE for all tiers that are due, or the name of a tier."""
    title: str
    before: int | None
    """Predicted tokens of the request as the client sent it."""
    tokens: int | None
    """Predicted tokens of the request when forwarded in this way; None: not known yet."""
    window: int | None
    changes: str
    """What would happen to which messages, in words."""
    lost: int | None = None
    """Number of facts that no message would contain any more; None: not counted."""
    summaries: int = 0
    """Number of the policy's model calls, which are answered offline."""
    reported: int | None = None
    """Tokens that the provider reported after the request was forwarded in this way."""
    is_taken: bool = False
    """True if the request was forwarded in this way."""

    @property
    def size(self) -> str:
        """The tokens, and their share of the context window."""
        if self.tokens is None:
            return "…"
        share = f" ({per_cent(self.tokens / self.window, places=1)})" if self.window else ""
        return f"about {grouped(self.tokens)}{share}"

    @property
    def freed(self) -> str:
        """The tokens that the choice frees, compared with the request as the client sent it."""
        if self.tokens is None or self.before is None:
            return ""
        return grouped(self.before - self.tokens)

    @property
    def result(self) -> str:
        """The reported tokens, and their deviation from the prediction."""
        if self.reported is None:
            return "waiting for the answer" if self.is_taken else ""
        if not self.tokens:
            return grouped(self.reported)
        error = per_cent((self.reported - self.tokens) / self.tokens, places=1, sign="+")
        return f"{grouped(self.reported)} ({error})"


def list_hold_choices(hold: HoldInfo, prospect: Prospect) -> list[HoldChoice]:
    """Return the ways to forward a held request: unchanged first, then with steps, then by tiers."""
    unchanged = HoldChoice(
        UNCHANGED,
        title="Unchanged",
        before=hold.tokens,
        tokens=hold.tokens,
        window=hold.window,
        changes="nothing",
        lost=0,
    )
    if hold.cannot:
        return [unchanged]
    steps = [] if prospect.steps is None else [_choose_steps(hold, prospect.steps, prospect.left)]
    return [unchanged, *steps, *_choose_tiers(hold, prospect)]


def _choose_steps(hold: HoldInfo, steps: Steps, left: int | None) -> HoldChoice:
    """Return the choice that applies the user's steps: tiers, edits and restored facts."""
    changes = ", ".join(count_fates(steps.fates(since=steps.base(steps.at)))) or "nothing"
    title = f"With your {plural(len(steps.own_path), 'step')}"
    facts = len(lost(steps.sent.messages, steps.buffer.messages))
    return HoldChoice(
        STEPPED,
        title,
        before=hold.tokens,
        tokens=left,
        window=hold.window,
        changes=changes,
        lost=facts,
    )


def _choose_tiers(hold: HoldInfo, prospect: Prospect) -> Iterator[HoldChoice]:
    """Yield a choice for each due tier, and one for all due tiers if no single tier has the same result."""
    proposals = {key: each for key, each in prospect.proposals.items() if each.after is not None}
    together = proposals.pop(DUE, None)
    if together is not None and not any(_is_same(each, together) for each in proposals.values()):
        yield _choose_proposal(
            hold, key=DUE, title=f"All due tiers of {prospect.policy}", proposal=together
        )
    for name, proposal in proposals.items():
        yield _choose_proposal(
            hold,
            key=name,
            title=f"{name} {prospect.titles.get(name, '')}".strip(),
            proposal=proposal,
        )


def _is_same(proposal: Proposal, other: Proposal) -> bool:
    return (
        proposal.after is not None
        and other.after is not None
        and proposal.after.messages == other.after.messages
    )


def _choose_proposal(hold: HoldInfo, key: str, title: str, proposal: Proposal) -> HoldChoice:
    return HoldChoice(
        key,
        title,
        proposal.tokens_before,
        proposal.tokens_after,
        hold.window,
        changes=", ".join(proposal.gone),
        lost=proposal.lost,
        summaries=proposal.summaries,
    )


_COLUMNS: Sequence[Column[HoldChoice]] = (
    Column("Forward", lambda choice: choice.title, width=26, least=17),
    Column(
        "Tokens",
        lambda choice: choice.size,
        width=17,
        figures=True,
        about="Predicted tokens of the request, and their share of the window",
    ),
    Column(
        "Freed",
        lambda choice: choice.freed,
        width=7,
        figures=True,
        about="Tokens that the client sent and that are not forwarded",
    ),
    Column("What changes", lambda choice: choice.changes, least=20),
    Column(
        "Facts lost",
        lambda choice: "" if choice.lost is None else grouped(choice.lost),
        width=8,
        figures=True,
        about="Paths, values, names and instructions that would no longer be in any message",
    ),
    Column(
        "Summary",
        lambda choice: "made offline" if choice.summaries else "none",
        width=12,
        about="Summary that the policy asks for; it is made offline, without a model",
    ),
    Column(
        "Reported",
        lambda choice: choice.result,
        width=20,
        figures=True,
        about="Tokens that the provider reported, and how far they are from the prediction",
    ),
)
_REPORTED = len(_COLUMNS) - 1


class HoldTable(Rows[HoldChoice]):
    """The choices of a held request, all of them visible. The current row is the selected choice."""

    def __init__(self) -> None:
        super().__init__("Ways to forward the held request", _COLUMNS)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.leave_out(_REPORTED, out=True)

    def sizeHint(self) -> QSize:
        """Return a size that shows all rows and the headings."""
        row_height = self.verticalHeader().defaultSectionSize()
        high = self.horizontalHeader().sizeHint().height() + len(self.rows) * row_height
        return QSize(super().sizeHint().width(), high + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def show_choices(self, choices: Sequence[HoldChoice], key: str) -> None:
        """Show the choices, and make the one with that key the current row."""
        self.show_rows(choices)
        self.leave_out(_REPORTED, not any(choice.is_taken for choice in choices))
        place = next((index for index, choice in enumerate(choices) if choice.key == key), 0)
        self.setCurrentIndex(self.model().index(place, 0))
        self.updateGeometry()
