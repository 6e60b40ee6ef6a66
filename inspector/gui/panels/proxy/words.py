"""The proxy in words: a held request, the time that is left, an exchange."""

from time import time

from inspector.core.validity import check
from inspector.gui.look.number_formats import grouped, percent, plural
from inspector.proxy.holds.compacting import Proposal
from inspector.proxy.holds.hold import HoldInfo
from inspector.proxy.live_proxy import ExchangeRow
from inspector.workbench.steps import Steps

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
    """A client as people call it."""
    return _NAMES.get(name, name) or "A client"


def headline(hold: HoldInfo) -> str:
    """Who waits; its launch or its session, where several do."""
    launch = hold.tag or hold.session[:8]
    return " · ".join(word for word in (client_title(hold.client), launch, hold.model, _WHY[hold.why]) if word)


def size(hold: HoldInfo) -> str:
    """How large it is."""
    told = plural(hold.messages, "message")
    if hold.tokens is None:
        return told
    of = f" of {grouped(hold.window)} ({percent(hold.tokens / hold.window)})" if hold.window else ""
    if hold.band is not None and not hold.is_sure:
        of += f", between {grouped(hold.band[0])} and {grouped(hold.band[1])}"
    return f"{told}, about {grouped(hold.tokens)} tokens{of}"


def left(hold: HoldInfo) -> float:
    """Seconds until it goes by itself."""
    return max(0.0, hold.until - time())


def clock(seconds: float) -> str:
    """`4:07`."""
    whole = int(seconds)
    return f"{whole // 60}:{whole % 60:02}"


def countdown(hold: HoldInfo) -> str:
    """What happens when nobody decides."""
    if hold.is_gone:
        return "The client has closed. If it asks again, its new request takes this place; else this is forgotten."
    words = f"Goes as it stands in {clock(left(hold))}"
    if hold.retries:
        words += f" · asked again {plural(hold.retries, 'time')}: the newest request waits here"
    if hold.is_begun:
        words += " · kept alive with pings"
    return words


def patience(hold: HoldInfo) -> str:
    """Why so long, for a tooltip."""
    bears = hold.patience
    silent = f"Without a byte this client waits {bears.silent_s:g} seconds. {bears.how_known}"
    if not bears.ping:
        return f"{silent} Nothing is sent to it early, so it goes before that, with time left for the answer."
    begin = bears.begin_s or 0
    return (
        f"{silent} After {begin:.0f} seconds the answer is begun and a ping follows every 10 seconds: from then on a "
        "failure of the provider is told inside the stream."
    )


def proposed(hold: HoldInfo, proposal: Proposal | None, policy: str) -> str:
    """What the policy would make of it: what goes, and the sizes before and after."""
    if hold.cannot or proposal is None:
        return ""
    if proposal.after is None:
        return f"By {policy}: {proposal.why}."
    sizes = f"{tokens(proposal.tokens_before, hold)} to {tokens(proposal.tokens_after, hold)}"
    count = plural(len(proposal.after.messages), "message")
    return f"By {policy}: {count} instead of {len(proposal.before.messages):,}, {sizes}: {', '.join(proposal.gone)}."


def tokens(count: int, hold: HoldInfo) -> str:
    """`5,410 tokens (18 %)`."""
    share = f" ({percent(count / hold.window)})" if hold.window else ""
    return f"{grouped(count)} tokens{share}"


def instead(hold: HoldInfo, steps: Steps | None, left: int | None = None) -> str:
    """What the steps make of it, and the tokens before and after; empty where there are none."""
    if steps is None:
        return ""
    after, before = len(steps.buffer.messages), len(steps.origin.messages)
    known = {(one.rule, one.message) for one in check(steps.origin)}
    worse = [one for one in check(steps.buffer) if (one.rule, one.message) not in known]
    sizes = ""
    if left is not None and hold.tokens is not None:
        sizes = f", {tokens(hold.tokens, hold)} to {tokens(left, hold)}"
    taken = f"{plural(len(steps.path()), 'step')} taken"
    words = f"{taken}: {plural(after, 'message')} instead of {before:,}{sizes}."
    return f"{words} A provider would refuse this: {worse[0].why}" if worse else words


def what(one: ExchangeRow) -> str:
    """Who called what: `Claude Code 3f21… messages`."""
    call = one.path.partition("?")[0].rstrip("/").rpartition("/")[2].rpartition(":")[2]
    session = one.session.removeprefix("tag ")[:8]
    return " ".join(word for word in (client_title(one.client), session, one.thread[:8], "·", call or one.path) if word)


def outcome(one: ExchangeRow) -> str:
    """How it went."""
    status = str(one.status) if one.status else ""
    if not one.ended:
        return one.done or "…"
    ended = "" if one.ended == "complete" else one.ended
    return " ".join(word for word in (status, one.done if one.done != "as it was" else "", ended) if word)
