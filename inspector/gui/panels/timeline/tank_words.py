"""What the tank shows, apart from how it is painted: its layers, and every number of it in words."""

from dataclasses import dataclass

from inspector.core.policies.verdict import Watermark
from inspector.gui.look.colours import Colours
from inspector.gui.look.number_formats import error_words, grouped
from inspector.workbench.gauge import GaugeReading


@dataclass(frozen=True, slots=True)
class Layer:
    """One colour in the tank, from `low` to `high` tokens."""

    name: str
    low: int
    high: int
    colour: str


def layers(reading: GaugeReading, colours: Colours) -> tuple[Layer, ...]:
    """What fills the tank, from the bottom: what the file lacks, then the categories."""
    found: list[Layer] = []
    level = 0
    stack = [("not in this file", reading.unseen, colours.missing)]
    stack += [(name, tokens, colours.categories[name]) for name, tokens in reading.parts]
    for name, tokens, colour in stack:
        if tokens:
            found.append(Layer(name, level, level + tokens, colour))
            level += tokens
    return tuple(found)


def belief_words(reading: GaugeReading) -> str:
    """`Roku believes 53,264: 12.0 % too low`; empty while nobody has worked it out."""
    if reading.believed is None:
        return ""
    return f"{reading.believer} believes {grouped(reading.believed)}{error_words(reading.belief_error)}"


def headroom(reading: GaugeReading, line: Watermark) -> str:
    """`2,310 over`, `12,000 to go`: as the policy counts, like the verdict of the tier."""
    measured = reading.measured
    if measured is None:
        return grouped(line.tokens)
    room = line.to_go(measured)
    return f"{grouped(-room)} over" if line.fires(measured) else f"{grouped(room)} to go"


def spoken(reading: GaugeReading | None) -> str:
    """The tank for those who cannot see it."""
    if reading is None:
        return "nothing open"
    parts = ", ".join(f"{name} {grouped(tokens)}" for name, tokens in reversed(reading.parts))
    lines = ", ".join(f"{line.label}: {headroom(reading, line)}" for line in reading.lines)
    unseen = f". Not in this file {grouped(reading.unseen)}" if reading.unseen else ""
    believed = f". {belief_words(reading)}" if reading.believed is not None else ""
    return f"{parts}{unseen}{believed}. {lines}"
