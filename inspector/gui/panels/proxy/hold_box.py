"""The box of a held request: its client, its size, the remaining time, and the ways to forward it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import time

from PySide6.QtWidgets import QFrame, QProgressBar, QPushButton

from inspector.core.validity import find_refusals
from inspector.core.words import per_cent, plural
from inspector.gui.live.status import clock_words
from inspector.gui.look.build import button, column, holding, mark
from inspector.gui.look.labels import label, say, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import BOX_GAP, BOX_INSETS
from inspector.gui.look.visible import line
from inspector.gui.panels.proxy.hold_choices import (
    STEPPED,
    UNCHANGED,
    HoldChoice,
    HoldTable,
    list_hold_choices,
)
from inspector.gui.proxies.controller import ProxyController
from inspector.gui.widgets.chips import flow
from inspector.proxy.holds.hold import HoldInfo
from inspector.workbench.live import Prospect
from inspector.workbench.steps import Steps

LOOK, DROP = "Look", "Drop"
UNTOUCHED = "Forward unchanged"
CHANGED = "Forward with the chosen change"


class HoldBox(QFrame):
    """Shows a held request and, after it was forwarded, what the provider reported.

    `look` and the controller are called with the request's current HoldInfo.
    """

    def __init__(
        self, hold: HoldInfo, look: Callable[[HoldInfo], None], to: ProxyController
    ) -> None:
        super().__init__()
        self.setObjectName("HoldBox")
        self.hold = hold
        self._to = to
        self._prospect = Prospect()
        self._chosen: str | None = None
        """Key of the choice that the user clicked; None: the suggested choice."""
        self.taken: str | None = None
        """Key of the choice with which the user forwarded the request; None: the user has not forwarded it here."""
        self.title, self.who, self.size_, self.left, self.made = (
            label(role=role, wrap=True) for role in ("heading", "strong", "quiet", "", "quiet")
        )
        self.table = HoldTable()
        self.table.chosen.connect(self._choose)
        self.table.opened.connect(lambda row: self._choose(row, 0))
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 1000)
        self.bar.setAccessibleName("Time left")
        self.forward, self.as_it_was, self.look, self.drop = self._make_buttons(look)
        self.close_ = button("Close", self.hide, about="Close this result")
        self.close_.hide()
        buttons = flow(self.forward, self.as_it_was, self.look, self.drop, self.close_)
        lines = (self.title, self.who, self.size_, self.bar, self.left, self.table, self.made)
        column(*lines, holding(buttons), of=self, margins=BOX_INSETS, gap=BOX_GAP)
        self.show_hold(hold, Prospect())

    def _make_buttons(self, look: Callable[[HoldInfo], None]) -> list[QPushButton]:
        changed = "Send the request with the change of the chosen row; later requests are shortened the same way"
        unchanged = "Send the request as the client sent it"
        looked = "Show this request: its buffer, the tiers, and what each tier would free"
        dropped = "Answer the client with an error; the provider never receives the request"
        return [
            button(CHANGED, self._forward, about=changed),
            button(UNTOUCHED, lambda: self._release(UNCHANGED), about=unchanged),
            button(LOOK, lambda: look(self.hold), about=looked),
            button(DROP, self._drop, about=dropped),
        ]

    # -- choices -------------------------------------------------------------------------------------------------------

    @property
    def choice(self) -> HoldChoice:
        """The choice in the current row."""
        return self.table.rows[max(0, self.table.currentIndex().row())]

    def choose(self, key: str) -> None:
        """Select the row of a choice."""
        self._chosen = key
        self._show_choices()

    def _choose(self, row: int, at: int) -> None:
        self.choose(self.table.rows[row].key)

    def _forward(self) -> None:
        self._release(self.choice.key)

    def _release(self, key: str) -> None:
        """Forward the request in the way that the key names."""
        self.taken = key
        if key in (UNCHANGED, STEPPED):
            self._to.forward(self.hold, key == STEPPED)
        else:
            self._to.compact(self.hold, key)

    def _drop(self) -> None:
        self.taken = None
        self._to.drop(self.hold)

    def _suggest(self, choices: Sequence[HoldChoice]) -> str:
        """Return the key of the initial choice: the user's steps, or the tier that runs first."""
        keys = [choice.key for choice in choices]
        if STEPPED in keys:
            return STEPPED
        return keys[1] if len(keys) > 1 else UNCHANGED

    def _show_choices(self) -> None:
        choices = list_hold_choices(self.hold, self._prospect)
        is_known = self._chosen in {choice.key for choice in choices}
        key = self._chosen if is_known and self._chosen is not None else self._suggest(choices)
        self.table.show_choices(choices, key)
        is_change = key != UNCHANGED
        self.forward.setText(f"Forward with {_short(self.choice)}" if is_change else CHANGED)
        self.forward.setEnabled(is_change)
        mark(self.forward, "role", "primary" if is_change else "")

    def show_hold(self, hold: HoldInfo, prospect: Prospect) -> None:
        """Show a held request, and how steps and policy would change it."""
        new = hold is not self.hold or prospect != self._prospect or not self.who.text()
        self.hold = hold
        if new:
            self._prospect = prospect
            self.title.setText(_TITLES[hold.why])
            self.who.setText(line(hold_headline(hold), 160))
            self.size_.setText(hold_size(hold))
            self._show_choices()
            refused = refusal_words(prospect.steps) if prospect.steps is not None else ""
            say(self.made, hold.cannot or refused or proposal_words(prospect))
            mark(self.made, "role", "bad" if hold.cannot or refused else "quiet")
            self.setToolTip(tip(patience_words(hold)))
        self.tick()

    # -- after the answer ----------------------------------------------------------------------------------------------

    def show_taken(self) -> None:
        """Show that the request was forwarded. Its row waits for the provider's report."""
        for widget in (self.bar, self.forward, self.as_it_was, self.look, self.drop):
            widget.hide()
        self.close_.show()
        say(self.made, "")
        self.show_report(None)

    def show_report(self, reported: int | None) -> None:
        """Show the tokens that the provider reported for the forwarded request; None: no report yet."""
        choices = []
        for choice in list_hold_choices(self.hold, self._prospect):
            if choice.key == self.taken:
                choices.append(replace(choice, is_taken=True, reported=reported))
            else:
                choices.append(choice)
        self.table.show_choices(choices, UNCHANGED if self.taken is None else self.taken)
        way = "unchanged" if self.taken == UNCHANGED else f"with {_short(self.choice)}"
        self.left.setText(f"Forwarded {way}.")

    def tick(self) -> None:
        """Update the countdown. Called every second."""
        self.left.setText(countdown_words(self.hold))
        self.bar.setValue(
            int(1000 * min(1.0, seconds_left(self.hold) / max(1.0, self.hold.patience.limit_s)))
        )
        self.bar.setVisible(not self.hold.is_gone)


_TITLES = {
    "watermark": "A request is held at the watermark",
    "each": "A request is held, as every request is",
    "by hand": "A request is held, as you asked",
}
_NAMES = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini-cli": "Gemini CLI",
    "anthropic-sdk": "Anthropic SDK",
    "openai-sdk": "OpenAI SDK",
    "Anthropic": "Anthropic SDK",
    "AsyncAnthropic": "Anthropic SDK",
    "OpenAI": "OpenAI SDK",
    "AsyncOpenAI": "OpenAI SDK",
}


def client_title(name: str) -> str:
    """Return the name of a client as shown on the screen."""
    return _NAMES.get(name, name) or "A client"


def hold_headline(hold: HoldInfo) -> str:
    """Return client, launch or session, and model of a held request."""
    launch = hold.tag or hold.session[:8]
    return " · ".join(word for word in (client_title(hold.client), launch, hold.model) if word)


def hold_size(hold: HoldInfo) -> str:
    """Return the number of messages and tokens of a held request."""
    count = plural(hold.messages, "message")
    if hold.tokens is None:
        return count
    share = ""
    if hold.window:
        share = f" of {grouped(hold.window)} ({per_cent(hold.tokens / hold.window, places=1)})"
    if hold.band is not None:
        share += f", between {grouped(hold.band[0])} and {grouped(hold.band[1])}"
    return f"{count}, about {grouped(hold.tokens)} tokens{share}"


def seconds_left(hold: HoldInfo) -> float:
    """Return the seconds until a held request is forwarded automatically."""
    return max(0.0, hold.until - time())


def countdown_words(hold: HoldInfo) -> str:
    """Return what happens to a held request if the user does nothing."""
    if hold.is_gone:
        return "The client closed the connection. If it retries, its new request replaces this one."
    words = f"Forwarded unchanged in {clock_words(seconds_left(hold))} unless you act"
    if hold.retries:
        words += f" · the client retried {plural(hold.retries, 'time')}; its newest request is the one held"
    if hold.is_begun:
        words += " · kept alive with pings"
    return words


def patience_words(hold: HoldInfo) -> str:
    """Explain in a tooltip how long the request can be held."""
    bears = hold.patience
    silent = (
        f"This client gives up after {bears.silent_s:g} seconds without a byte. {bears.how_known}"
    )
    if not bears.ping:
        return (
            f"{silent} The proxy forwards the request before that, with time left for the answer."
        )
    begin = bears.begin_s or 0
    return (
        f"{silent} To keep it waiting, the proxy starts the answer after {begin:.0f} seconds and sends a ping every "
        "10 seconds. If the provider fails after that, the client gets the error inside the stream, not as an HTTP "
        "status."
    )


def proposal_words(prospect: Prospect) -> str:
    """Return why the policy would not change a held request; empty if it would, or if that is unknown."""
    proposal = prospect.proposal
    if proposal is None or proposal.after is not None:
        return ""
    return f"By {prospect.policy}: {proposal.why}."


def refusal_words(steps: Steps) -> str:
    """Return why a provider would refuse the request after the steps; empty if they cause no new problem."""
    former = {(problem.rule, problem.message) for problem in find_refusals(steps.sent)}
    worse = (
        problem.why
        for problem in find_refusals(steps.buffer)
        if (problem.rule, problem.message) not in former
    )
    why = next(worse, "")
    return f"A provider would refuse the request with your steps: {why}" if why else ""


def _short(choice: HoldChoice) -> str:
    """Return a choice's name within a sentence, such as `L0` for a tier."""
    if choice.key == STEPPED:
        return choice.title.removeprefix("With ")
    return choice.key or "all due tiers"
