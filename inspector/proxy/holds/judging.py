"""Which requests are held, and which of them the cuts of their conversation can be made on again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.core.cuts import recut
from inspector.core.tokens.prediction import Prediction
from inspector.proxy.holds.call import ModelCall
from inspector.proxy.holds.hold import Rule
from inspector.proxy.holds.memory import ConversationState
from inspector.proxy.record.records import HoldReason


@dataclass(slots=True)
class Judge:
    """The rule, and the next one by hand. `models`: the user's own table of windows; `note`: where sentences go."""

    rule: Rule
    models: Mapping[str, int]
    note: Callable[[str], None]
    is_next: bool = False
    _unknown: set[str] = field(default_factory=set)

    def why(
        self, call: ModelCall, state: ConversationState, size: Prediction | None, *, is_known: bool
    ) -> HoldReason | None:
        """Is it to be held, and why? `is_known`: the same words were let go before, so this is a retry."""
        if call.side:
            return None
        at_mark = self.at_mark(call, state, size)
        if self.is_next:
            self.is_next = False
            return "by hand"
        if is_known:
            return None
        if self.rule.kind == "each":
            return "each"
        return "watermark" if self.rule.kind == "watermark" and at_mark else None

    def at_mark(self, call: ModelCall, state: ConversationState, size: Prediction | None) -> bool:
        """Is a request of that size to be held for it? Takes down how far the conversation got.

        Where the window cannot be known that is told, once a model.
        """
        rule, window = self.rule, self.window(call, state)
        if window is None:
            if rule.kind == "watermark" and call.model not in self._unknown:
                self._unknown.add(call.model)
                self.note(f"Nobody knows the window of {call.model}: at a watermark it is not held. Say the window.")
            return False
        if size is None:
            return False
        reached = state.reached(size.tokens, [mark * window for mark in rule.marks])
        return reached or size.tokens >= (rule.ratio if rule.always else rule.full) * window

    def window(self, call: ModelCall, state: ConversationState) -> int | None:
        return state.window(call.model, call.headers, self.rule.window, self.models).tokens

    def recut(self, call: ModelCall, state: ConversationState) -> tuple[Sequence[Any] | None, bool]:
        """What would be forwarded as it stands, and whether a cut was made for it."""
        if call.items is None or not state.cuts:
            return call.items, False
        done = recut(state.cuts, call.items)
        if done.left > state.lost and not call.side:
            which = "the cut" if len(state.cuts) == 1 else f"{done.left} of {len(state.cuts)} cuts"
            self.note(
                f"{call.key.client or 'The client'} sends another conversation than the one that was cut (it "
                f"compacted by itself, or went back): {which} cannot be made again."
            )
        if not call.side:
            state.lost = done.left
        return (done.items, True) if done.made else (call.items, False)
