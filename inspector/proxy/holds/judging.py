"""Which requests are held, and which of them the cuts of their conversation can be made on again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.core.cuts import recut
from inspector.core.tokens.prediction import Prediction
from inspector.proxy.gate import Why
from inspector.proxy.holds.hold import Rule
from inspector.proxy.holds.reading import Reading
from inspector.proxy.holds.threads import Standing


@dataclass(slots=True)
class Judge:
    """The rule, and the next one by hand. `models`: the user's own table of windows; `note`: where sentences go."""

    rule: Rule
    models: Mapping[str, int]
    note: Callable[[str], None]
    is_next: bool = False
    _unknown: set[str] = field(default_factory=set)

    def why(self, reading: Reading, standing: Standing, size: Prediction | None, *, is_known: bool) -> Why | None:
        """Is it to be held, and why? `is_known`: the same words were let go before, so this is a retry."""
        if reading.side:
            return None
        at_mark = self.at_mark(reading, standing, size)
        if self.is_next:
            self.is_next = False
            return "by hand"
        if is_known:
            return None
        if self.rule.kind == "each":
            return "each"
        return "watermark" if self.rule.kind == "watermark" and at_mark else None

    def at_mark(self, reading: Reading, standing: Standing, size: Prediction | None) -> bool:
        """Is a request of that size to be held for it? Takes down how far the conversation got.

        Where the window cannot be known that is told, once a model.
        """
        rule, window = self.rule, self.window(reading, standing)
        if window is None:
            if rule.kind == "watermark" and reading.model not in self._unknown:
                self._unknown.add(reading.model)
                self.note(f"Nobody knows the window of {reading.model}: at a watermark it is not held. Say the window.")
            return False
        if size is None:
            return False
        reached = standing.reached(size.tokens, [mark * window for mark in rule.marks])
        return reached or size.tokens >= (rule.ratio if rule.always else rule.full) * window

    def window(self, reading: Reading, standing: Standing) -> int | None:
        """Tokens of the model's window."""
        return standing.window(reading.model, reading.headers, self.rule.window, self.models).tokens

    def recut(self, reading: Reading, standing: Standing) -> tuple[Sequence[Any] | None, bool]:
        """What would be forwarded as it stands, and whether a cut was made for it."""
        if reading.items is None or not standing.cuts:
            return reading.items, False
        done = recut(standing.cuts, reading.items)
        if done.left > standing.lost and not reading.side:
            which = "the cut" if len(standing.cuts) == 1 else f"{done.left} of {len(standing.cuts)} cuts"
            self.note(
                f"{reading.key.client or 'The client'} sends another conversation than the one that was cut (it "
                f"compacted by itself, or went back): {which} cannot be made again."
            )
        if not reading.side:
            standing.lost = done.left
        return (done.items, True) if done.made else (reading.items, False)
