"""What the gauge says in words: how far a line is, what the policy believes, and all of it for those who cannot see."""

from inspector.core.policies.policy import Watermark
from inspector.gui.numbers import error_words, grouped
from inspector.workbench.reading import Reading


def belief_words(reading: Reading) -> str:
    """`Roku believes 53,264: 12.0 % too low`; empty while nobody has worked it out."""
    if reading.believed is None:
        return ""
    return f"{reading.believer} believes {grouped(reading.believed)}{error_words(reading.belief_error)}"


def headroom(reading: Reading, line: Watermark) -> str:
    """`2,310 over`, `12,000 to go`: as the policy counts, like the verdict of the tier."""
    measured = reading.measured
    if measured is None:
        return grouped(line.tokens)
    room = line.to_go(measured)
    return f"{grouped(-room)} over" if line.fires(measured) else f"{grouped(room)} to go"


def spoken(reading: Reading | None) -> str:
    """The tank for those who cannot see it."""
    if reading is None:
        return "nothing open"
    parts = ", ".join(f"{name} {grouped(tokens)}" for name, tokens in reversed(reading.parts))
    lines = ", ".join(f"{line.label}: {headroom(reading, line)}" for line in reading.lines)
    unseen = f". Not in this file {grouped(reading.unseen)}" if reading.unseen else ""
    believed = f". {belief_words(reading)}" if reading.believed is not None else ""
    return f"{parts}{unseen}{believed}. {lines}"
