"""A gauge reading in words: the texts beside the gauge, its tooltips, and its description for screen readers."""

from inspector.core.words import NOT_RECORDED, part_title, per_cent
from inspector.gui.look.glossary import explain
from inspector.gui.look.number_formats import error_share, grouped, signed
from inspector.workbench.pressure.gauge import GaugeReading
from inspector.workbench.pressure.scale import GaugeLine

SOURCES = {
    "recorded": "recorded in the file",
    "inferred": "inferred from the session",
    "catalogue": "from the model catalogue",
    "user": "set by you",
}
NOTHING = "–"


def pressure_headline(reading: GaugeReading | None) -> str:
    """Return the share of the window as a percentage; the tokens if the window is unknown."""
    if reading is None:
        return NOTHING
    if reading.pressure.tokens is None:
        return "No tokens"
    if reading.ratio is None:
        return grouped(reading.pressure.tokens)
    return per_cent(reading.ratio, places=1)


def pressure_size(reading: GaugeReading | None) -> str:
    """Return a text such as `122,765 of 200,000 tokens`, followed by lines for the range and the change by the
    steps.
    """
    if reading is None:
        return "Nothing is open"
    pressure = reading.pressure
    window = reading.window.tokens
    if pressure.tokens is None:
        return "The file records nothing that could be counted"
    exact = pressure.kind in ("reported", "counted")
    tokens = f"{'' if exact else 'about '}{grouped(pressure.tokens)}"
    lines = [f"tokens, window unknown: {reading.rim:,} assumed"]
    if window:
        lines = [f"{tokens} of {grouped(window)} tokens"]
    if pressure.band is not None:
        lines.append(f"range {grouped(pressure.band[0])} to {grouped(pressure.band[1])}")
    if reading.before is not None:
        change = pressure.tokens - reading.before
        if change:
            lines.append(f"{signed(change)} from {grouped(reading.before)}")
        else:
            lines.append("unchanged by the step")
    return "\n".join(lines)


def window_words(reading: GaugeReading) -> str:
    """Return the tooltip about the window: its size and where that is known from."""
    window = reading.window
    if not window.tokens:
        return explain(
            "window",
            f"The window is unknown; {reading.rim:,} tokens are assumed. Choose a size in the top bar.",
        )
    return explain(
        "window",
        f"{grouped(window.tokens)} tokens, {SOURCES.get(window.source, 'unknown')}.",
        window.basis,
    )


def own_count_words(reading: GaugeReading | None) -> str:
    """Return a text such as `Roku's own count: 122,966 (0.2% too high)`; empty until it is computed."""
    if reading is None or reading.believed is None or not reading.has_tiers:
        return ""
    error = error_share(reading.belief_error)
    reasons = [error] if error else []
    if reading.by_itself:
        reasons.append("it leaves out the system prompt and tools until the next reported usage")
    more = f" ({'; '.join(reasons)})" if reasons else ""
    return f"{reading.policy}'s own count: {grouped(reading.believed)}{more}"


def describe_line(reading: GaugeReading, line: GaugeLine) -> str:
    """Return the tooltip of a line."""
    return explain("watermark", line.about, f"{headroom(reading, line)}.")


def headroom(reading: GaugeReading, line: GaugeLine) -> str:
    """Return the distance of the shown size from a line, such as `2,765 over` or `27,235 to go`."""
    tokens = reading.pressure.tokens
    words = grouped(line.tokens) if tokens is None else line.headroom(tokens)
    return f"{words}, moved" if line.is_moved else words


def spoken_pressure(reading: GaugeReading | None) -> str:
    """Return the pressure for screen readers, such as `61.4 percent, 122,765 of 200,000, reported`."""
    if reading is None:
        return "nothing open"
    pressure = reading.pressure
    window = reading.window.tokens
    share = f"{reading.ratio * 100:.1f} percent, " if reading.ratio is not None else ""
    tokens = "no tokens to count" if pressure.tokens is None else grouped(pressure.tokens)
    return f"{share}{tokens}{f' of {grouped(window)}' if window else ''}, {pressure.kind}"


def spoken_tank(reading: GaugeReading | None) -> str:
    """Return the description of the whole gauge for screen readers."""
    if reading is None:
        return "nothing open"
    parts = [f"{part_title(name)} {grouped(tokens)}" for name, tokens in reversed(reading.parts)]
    if reading.unseen:
        parts.append(f"{NOT_RECORDED} {grouped(reading.unseen)}")
    lines = [f"{line.label}: {headroom(reading, line)}" for line in reading.lines]
    sentences = [spoken_pressure(reading), ", ".join(parts), ", ".join(lines), reading.due_words]
    sentences.append(own_count_words(reading))
    if reading.trigger is not None:
        sentences.append(reading.trigger.words)
    return ". ".join(filter(None, sentences))
