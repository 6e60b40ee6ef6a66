"""One held request: who waits, how large it is, how long it may last, and what can be done with it."""

from collections.abc import Callable
from time import time

from PySide6.QtWidgets import QFrame, QProgressBar, QPushButton

from inspector.core.validity import find_refusals
from inspector.core.words import per_cent, plural
from inspector.gui.look.build import button, column, holding, mark
from inspector.gui.look.labels import label, say, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.visible import line
from inspector.gui.proxies.controller import ProxyController
from inspector.gui.widgets.chips import flow
from inspector.proxy.holds.compacting import Proposal
from inspector.proxy.holds.hold import HoldInfo
from inspector.workbench.live import Prospect
from inspector.workbench.steps import Steps

LOOK, STEPPED, COMPACT = "Look", "Forward as stepped", "Compact and forward"
AS_IT_WAS, DROP = "Forward as it was", "Drop"


class HoldBox(QFrame):
    """Shows a held request. `look` and the controller are called with its current state."""

    def __init__(
        self, hold: HoldInfo, look: Callable[[HoldInfo], None], to: ProxyController
    ) -> None:
        super().__init__()
        self.setObjectName("HoldBox")
        self.hold = hold
        self._prospect = Prospect()
        self.who, self.size_, self.would, self.left, self.made = (
            label(role=role, wrap=True) for role in ("strong", "quiet", "quiet", "", "good")
        )
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 1000)
        self.bar.setAccessibleName("Time that is left")
        buttons = self._make_buttons(look, to)
        self.look, self.stepped, self.compact, self.as_it_was, self.drop = buttons
        lines = (self.who, self.size_, self.would, self.bar, self.left, self.made)
        column(*lines, holding(flow(*buttons)), of=self, margins=(10, 8, 10, 8), gap=4)
        self.show_hold(hold, Prospect())

    def _make_buttons(
        self, look: Callable[[HoldInfo], None], to: ProxyController
    ) -> list[QPushButton]:
        looked = "Go to this request: its buffer, the tiers, what each would free"
        stepped = "Send the request as changed by the steps; later turns are cut in the same way"
        compacted = "Send the request as compacted by the policy; summaries are made offline"
        unchanged = "Send the request unchanged, without your steps"
        dropped = "Answer it with an error; the provider never sees it"
        return [
            button(LOOK, lambda: look(self.hold), about=looked),
            button(STEPPED, lambda: to.forward(self.hold, True), about=stepped),
            button(COMPACT, lambda: to.compact(self.hold), about=compacted),
            button(AS_IT_WAS, lambda: to.forward(self.hold, False), about=unchanged),
            button(DROP, lambda: to.drop(self.hold), about=dropped),
        ]

    def show_hold(self, hold: HoldInfo, prospect: Prospect) -> None:
        """Show a held request, and what steps and policy would change in it."""
        steps, proposal = prospect.steps, prospect.proposal
        new = hold is not self.hold or prospect != self._prospect or not self.who.text()
        self.hold = hold
        if new:
            self._prospect = prospect
            self.who.setText(line(hold_headline(hold), 160))
            self.size_.setText(hold_size(hold))
            say(self.would, proposal_words(hold, proposal, prospect.policy))
            outcome, refused = (
                (stepped_words(hold, steps, prospect.left), refusal_words(steps))
                if steps is not None
                else ("", "")
            )
            say(self.made, hold.cannot or outcome + refused)
            mark(self.made, "role", "bad" if hold.cannot or refused else "good")
            self.stepped.setEnabled(steps is not None and not hold.cannot)
            mark(self.stepped, "role", "primary" if self.stepped.isEnabled() else "")
            self.compact.setEnabled(proposal is not None and proposal.after is not None)
            self.setToolTip(tip(patience_words(hold)))
        self.tick()

    def tick(self) -> None:
        """Update the countdown. Called every second."""
        self.left.setText(countdown_words(self.hold))
        self.bar.setValue(
            int(1000 * min(1.0, seconds_left(self.hold) / max(1.0, self.hold.patience.limit_s)))
        )
        self.bar.setVisible(not self.hold.is_gone)


_WHY = {"watermark": "at the watermark", "each": "each request is held", "by hand": "held by hand"}
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
    """Return the name of a client on screen."""
    return _NAMES.get(name, name) or "A client"


def hold_headline(hold: HoldInfo) -> str:
    """Return client, launch or session, model, and why the request is held."""
    launch = hold.tag or hold.session[:8]
    return " · ".join(
        word for word in (client_title(hold.client), launch, hold.model, _WHY[hold.why]) if word
    )


def hold_size(hold: HoldInfo) -> str:
    """Return the messages and tokens of a held request."""
    count = plural(hold.messages, "message")
    if hold.tokens is None:
        return count
    of = (
        f" of {grouped(hold.window)} ({per_cent(hold.tokens / hold.window, 1)})"
        if hold.window
        else ""
    )
    if hold.band is not None:
        of += f", between {grouped(hold.band[0])} and {grouped(hold.band[1])}"
    return f"{count}, about {grouped(hold.tokens)} tokens{of}"


def seconds_left(hold: HoldInfo) -> float:
    """Return the seconds until a held request is forwarded automatically."""
    return max(0.0, hold.until - time())


def clock_words(seconds: float) -> str:
    """Return minutes and seconds, such as `4:07`."""
    whole = int(seconds)
    return f"{whole // 60}:{whole % 60:02}"


def countdown_words(hold: HoldInfo) -> str:
    """Return what happens if the user does nothing."""
    if hold.is_gone:
        return (
            "The client has closed. If it asks again, its new request takes the place of this one."
        )
    words = f"Forwarded unchanged in {clock_words(seconds_left(hold))} unless you act"
    if hold.retries:
        words += f" · asked again {plural(hold.retries, 'time')}: the newest request waits here"
    if hold.is_begun:
        words += " · kept alive with pings"
    return words


def patience_words(hold: HoldInfo) -> str:
    """Explain in a tooltip how long the request can be held."""
    bears = hold.patience
    silent = f"Without a byte this client waits {bears.silent_s:g} seconds. {bears.how_known}"
    if not bears.ping:
        return f"{silent} Nothing is sent to it early, so it goes before that, with time left for the answer."
    begin = bears.begin_s or 0
    return (
        f"{silent} After {begin:.0f} seconds the answer is begun and a ping follows every 10 seconds: from then on a "
        "failure of the provider is reported inside the stream."
    )


def proposal_words(hold: HoldInfo, proposal: Proposal | None, policy: str) -> str:
    """Return what the policy would remove from a held request, and the sizes before and after."""
    if hold.cannot or proposal is None:
        return ""
    if proposal.after is None:
        return f"By {policy}: {proposal.why}."
    sizes = f"{tokens_words(proposal.tokens_before, hold)} to {tokens_words(proposal.tokens_after, hold)}"
    count = _counts(len(proposal.after.messages), len(proposal.before.messages))
    return f"By {policy}: {count}, {sizes}: {', '.join(proposal.gone)}."


def _counts(after: int, before: int) -> str:
    """Return `2 messages instead of 5` or `5 messages as before`."""
    comparison = f"instead of {before:,}" if after != before else "as before"
    return f"{plural(after, 'message')} {comparison}"


def tokens_words(count: int, hold: HoldInfo) -> str:
    """Return `5,410 tokens (18%)`."""
    share = f" ({per_cent(count / hold.window, 1)})" if hold.window else ""
    return f"{grouped(count)} tokens{share}"


def stepped_words(hold: HoldInfo, steps: Steps, left: int | None) -> str:
    """Return what the steps change in a held request, and the tokens before and after."""
    count = _counts(len(steps.buffer.messages), len(steps.origin.messages))
    has_sizes = left is not None and hold.tokens is not None
    sizes = (
        f", {tokens_words(hold.tokens or 0, hold)} to {tokens_words(left or 0, hold)}"
        if has_sizes
        else ""
    )
    return f"{plural(len(steps.path()), 'step')} taken: {count}{sizes}."


def refusal_words(steps: Steps) -> str:
    """Return why a provider would refuse the request after the steps; empty if it is not worse than before."""
    former = {(problem.rule, problem.message) for problem in find_refusals(steps.origin)}
    worse = (
        problem.why
        for problem in find_refusals(steps.buffer)
        if (problem.rule, problem.message) not in former
    )
    why = next(worse, "")
    return f" A provider would refuse this: {why}" if why else ""
