"""Predicted: what the provider would report for a buffer of which it has not said anything yet.

What the transcript does not hold is one opaque piece of the buffer, the *unseen* part; all else is counted, and a
counted token weighs what the session itself says (docs/architecture.md, "One true number"). The slope is the median of
the last ratios of growth (as reported / as counted), each weighing as much as it counted: a handful of tokens says
little. A prediction never knows the number that it predicts.
"""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

RECENT = 16
"""Ratios that the slope for the next call is learned from: what an agent does now is like what it did a moment ago."""
LASTING = 128
"""Ratios that the slope of whole buffers is learned from."""
_HEAVIEST = 5_000
"""Counted tokens that a ratio weighs at most: a single image, counted as its base64, must not outvote all text."""

_EXPECTED = 1_500
"""Counted tokens that the prior weighs beside what was learned."""

_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
"""Its version; of `claude-sonnet-4-20250514` 4."""
_NEW_TOKENIZER = (4, 7)
"""The Claude from which on one text is more tokens (Anthropic: Opus 4.7 and later, up to 1.35 times)."""
_FAMILIES = (
    (re.compile(r"claude"), 1.12),
    (re.compile(r"gpt|codex|(?:^|/)o[1345](?:-|$)"), 0.97),
    (re.compile(r"gemini"), 0.9),
    (re.compile(r"deepseek|glm|kimi|moonshot"), 1.0),
)
"""Tokens of the model for one of o200k, as measured over sessions of each family."""
_NEW_CLAUDE = 1.46
_OTHER_FAMILY = 1.0
_ESTIMATORS = {"roku": 1.12, "pi": 1.23, "chars4": 1.14}
"""Tokens of o200k for one that the estimator counts, over the same sessions."""


def prior(estimator: str, model: str) -> float:
    """The slope as long as nothing was learned: by model family and estimator, from sessions of each."""
    return (_family(model) or _OTHER_FAMILY) * _ESTIMATORS.get(estimator, 1.0)


def doubt(model: str) -> float:
    """How far the prior may be off, on either side, as a share of it: much where nobody knows the model's tokenizer."""
    return _ANY_TOKENIZER if _family(model) is None else _CHANGE


@lru_cache(maxsize=64)
def _family(model: str) -> float | None:
    """Tokens of the model for one of o200k; None of a family that was never measured."""
    name = model.lower()
    version = _CLAUDE.search(name)
    if "fable" in name or (version and (int(version[1]), int(version[2] or 0)) >= _NEW_TOKENIZER):
        return _NEW_CLAUDE
    return next((factor for pattern, factor in _FAMILIES if pattern.search(name)), None)


class Ratios:
    """The last `size` ratios of growth, and their quantiles, each weighing as much as was counted."""

    __slots__ = ("_counts", "_last", "_ordered", "_size", "_sums")

    def __init__(self, size: int) -> None:
        self._size = size
        self._last: deque[tuple[float, int]] = deque()
        self._ordered: list[tuple[float, int]] = []
        self._counts: list[int] = []
        """What was counted of each of the ordered."""
        self._sums: list[int] = []
        """The same of each and all below it."""

    def add(self, grown: int, counted: int) -> None:
        """One more; the oldest leaves where there are too many. Only what grew by both measures says anything."""
        if grown <= 0 or counted <= 0:
            return
        ordered, counts = self._ordered, self._counts
        if len(self._last) == self._size:
            place = bisect_left(ordered, self._last.popleft())
            del ordered[place], counts[place]
        one = (grown / counted, min(counted, _HEAVIEST))
        self._last.append(one)
        place = bisect_left(ordered, one)
        ordered.insert(place, one)
        counts.insert(place, one[1])
        self._sums = list(accumulate(counts))

    def __len__(self) -> int:
        return len(self._last)

    def copy(self) -> "Ratios":
        """Return the same ratios, to be added to by itself. O(size)."""
        made = copy(self)
        made._last, made._ordered, made._counts = self._last.copy(), list(self._ordered), list(self._counts)
        return made

    def median(self, expected: float) -> float:
        """With what is expected of such a session as one more ratio: the first few alone say little."""
        sums = self._sums
        half = -(-((sums[-1] if sums else 0) + _EXPECTED) // 2)
        at = bisect_left(self._ordered, (expected, _EXPECTED))
        place = bisect_left(sums, half, 0, at)
        if place == at:
            if (sums[at - 1] if at else 0) + _EXPECTED >= half:
                return expected
            place = bisect_left(sums, half - _EXPECTED, at)
        return self._ordered[place][0]

    def quantile(self, share: float) -> float | None:
        """The ratio below which `share` of all that was counted lies; None of none."""
        sums = self._sums
        return self._ordered[bisect_left(sums, share * sums[-1])][0] if sums else None


def quantile(values: Iterable[float], share: float) -> float | None:
    """The value below which `share` of the values lie, interpolated; None of no values."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


_ERRORS = 64
"""Past predictions of the next call that the band is learned from."""
_INSIDE = 0.95
"""Share of them that lay within the band."""
_LEAST_BAND = 16
"""Tokens on either side: no prediction is surer than a few tokens of framing."""
_CHANGE = 0.1
"""Of what a change of the counted rows is worth, on either side, as long as the session has not said otherwise."""
_ANY_TOKENIZER = 0.4
"""The same for a model whose tokenizer nobody measured: those that were measured lie between 0.9 and 1.46 of o200k."""
_FALL = 2_000
"""Tokens that a reported number falls by where the unseen part became smaller: less is a rounding of the provider's."""
_LEAST_SLOPE = 0.1
"""Share of the learned slope that rows weigh at least: an unseen part that would leave them less is inferred wrong."""
_KNOWN_BY = 3
"""Ratios of growth after which the session has said what its tokens weigh."""
_TRIED = 8
"""Predictions that tell whether it helps to take an answer's recorded output for its size."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Tokens that the provider would report, and between which bounds it most likely will."""

    tokens: int
    low: int
    high: int
    attached: int = 0
    """Of the tokens, what the client most likely attaches anew and does not record: it is unseen, too."""

    @property
    def band(self) -> tuple[int, int]:
        """(low, high)"""
        return self.low, self.high


def banded(tokens: int, room: int, stays: int) -> Prediction:
    """Return a prediction with so much room on either side of it, but not below what stays in any case."""
    least = min(tokens, max(0, stays))
    return Prediction(tokens, max(least, tokens - room), tokens + room)


@dataclass(frozen=True, slots=True)
class Scale:
    """What the counted rows of one place weigh, and what lies beside them: all that is shown there is measured so."""

    unseen: int
    """Tokens that the transcript does not hold; 0 where nothing was reported."""
    slope: float
    """Tokens of the provider's for a counted one."""
    counted: int
    """Of the buffer at that place."""
    spread: float = _CHANGE
    """Relative uncertainty of what a change weighs."""
    around: int = 0
    """Tokens that the provider makes of the tools beyond what was counted, where the transcript holds all of them;
    below zero where it writes their schemas shorter."""

    def tokens(self, counted: int) -> int:
        """Tokens of a whole buffer with so many counted ones."""
        return round(self.unseen + self.around + self.slope * counted)

    def predict(self, counted: int) -> Prediction:
        """Predict a whole buffer with so many counted tokens.

        The band is as wide as the change is uncertain: no change, no uncertainty. It never begins below the unseen
        part, which stays whatever happens.
        """
        tokens = self.tokens(counted)
        room = round(abs(counted - self.counted) * self.slope * self.spread)
        return banded(tokens, room, self.unseen)

    def rows(self, counted: int) -> int:
        """Tokens of some rows by themselves, without the unseen part."""
        return round(self.slope * counted)


UNSCALED = Scale(0, 1.0, 0, 0.0)
"""Where nothing was ever reported: counted tokens are all there is."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The last call whose size was reported."""

    counted: int
    reported: int
    output: int
    """Tokens of its answer, where the recorded number is final; else 0."""


@dataclass(frozen=True, slots=True)
class Addition:
    """A buffer that is to be predicted, as it differs from the anchor's."""

    counted: int
    extends: bool
    """It begins with the anchor's messages, and more follow."""
    answer: int = 0
    """Counted tokens of the anchor's answer, which stands after its buffer; 0 where it does not."""
    attached: int = 0
    """Tokens that the client most likely attached anew without recording it, after its own compaction."""
    attached_range: tuple[int, int] = (0, 0)
    """How many fewer, and how many more it may be."""


class Learner:
    """Follows the reports of one thread, in order. Mutable; knows at any time only what was reported before."""

    def __init__(self, estimator: str) -> None:
        self._estimator = estimator
        self._model = ""
        self._expected = 0.0
        self._anchor: Anchor | None = None
        self._start: Anchor | None = None
        """Of the first report of the stretch: it has the fewest rows, so it tells most about what is unseen."""
        self._recent = (Ratios(RECENT), Ratios(RECENT))
        """Ratios of growth: of everything that was appended, and of what was appended besides the answer."""
        self._lasting = Ratios(LASTING)
        self._errors = deque[int](maxlen=_ERRORS)
        self._tried = (deque[int](maxlen=_TRIED), deque[int](maxlen=_TRIED))

    @property
    def anchor(self) -> Anchor | None:
        """The last report; None before the first."""
        return self._anchor

    def copy(self) -> "Learner":
        """Return a learner that knows the same, to be led on by itself. O(1)."""
        made = copy(self)
        made._recent = (self._recent[0].copy(), self._recent[1].copy())
        made._lasting = self._lasting.copy()
        made._errors = self._errors.copy()
        made._tried = (self._tried[0].copy(), self._tried[1].copy())
        return made

    def slope(self) -> float:
        """Of whole buffers."""
        return self._lasting.median(self._prior())

    def spread(self) -> float:
        """Relative uncertainty of what a large change weighs: half of the ratios lie within it, on either side."""
        low, middle, high = (self._lasting.quantile(share) for share in (0.25, 0.5, 0.75))
        if low is None or middle is None or high is None or len(self._lasting) < _TRIED:
            return self._doubt()
        return min(0.5, max(0.02, (high - low) / 2 / middle / 2))

    def unseen(self) -> int:
        """Tokens of the unseen part, as far as they are known by now: from the first report of the stretch."""
        start = self._start
        return 0 if start is None else max(0, round(start.reported - self.slope() * start.counted))

    def scale(self, shown: int, counted: int, unseen: int | None = None) -> Scale:
        """Of a buffer that is shown with so many tokens. `unseen`: what is known of it by now, if more than before."""
        slope = self.slope()
        return scale(shown, counted, self.unseen() if unseen is None else unseen, slope, self.spread())

    def predict(self, added: Addition) -> Prediction | None:
        """What the next report will say; None before the first one."""
        anchor = self._anchor
        if anchor is None:
            return None
        if not added.extends:
            found, more = self.scale(anchor.reported, anchor.counted).predict(added.counted), added.attached
            least, most = added.attached_range
            low, high = found.low + more + least, found.high + more + most
            return Prediction(max(0, found.tokens + more), max(0, low), max(0, high), more)
        plain, with_output = self._guesses(anchor, added)
        tokens = max(0, with_output if self._takes_output() else plain)
        if added.counted == anchor.counted:
            return Prediction(tokens, tokens, tokens)
        learned = quantile(self._errors, _INSIDE)
        grown = abs(tokens - anchor.reported)
        room = max(_LEAST_BAND, round(grown * self._doubt() * 2) if learned is None else round(learned))
        return banded(tokens, room, self.unseen())

    def _guesses(self, anchor: Anchor, added: Addition) -> tuple[int, int]:
        """(by the slope alone, with the recorded output for the answer)."""
        grown = added.counted - anchor.counted
        plain, rest = (ratios.median(self._prior()) for ratios in self._recent)
        by_slope = anchor.reported + round(plain * grown)
        if not (anchor.output and added.answer):
            return by_slope, by_slope
        return by_slope, anchor.reported + anchor.output + round(rest * (grown - added.answer))

    def expect(self, slope: float) -> None:
        """What is expected of growth instead of the family's prior: where a body holds all that is sent, what the whole
        of it was reported at."""
        self._expected = slope

    def _prior(self) -> float:
        return self._expected or prior(self._estimator, self._model)

    def _doubt(self) -> float:
        return _CHANGE if self._expected or len(self._lasting) >= _KNOWN_BY else doubt(self._model)

    def _takes_output(self) -> bool:
        """Does the recorded output tell the size of an answer? Not where the provider drops its thinking again."""
        plain, with_output = (quantile(one, 0.5) for one in self._tried)
        return plain is None or with_output is None or len(self._tried[0]) < 3 or with_output <= plain

    def report(self, added: Addition, reported: int, output: int, model: str, *, fresh: bool) -> int:
        """The provider reported that buffer. `output`: of its answer, 0 where not final. `fresh`: a stretch begins.

        Returns by how much the unseen part fell: where the buffer only grew and the reported number fell, the client
        was started anew with fewer tools, or dropped what it had put around the messages.
        """
        anchor, self._model = self._anchor, model or self._model
        fallen = 0
        if anchor is not None and added.extends:
            plain, with_output = self._guesses(anchor, added)
            told = self.predict(added)
            if told is not None:
                self._errors.append(abs(told.tokens - reported))
                fallen = told.tokens - reported if reported < anchor.reported - _FALL else 0
            self._tried[0].append(abs(plain - reported))
            self._tried[1].append(abs(with_output - reported))
            grown, counted = reported - anchor.reported, added.counted - anchor.counted
            self._recent[0].add(grown, counted)
            if anchor.output and added.answer:
                self._recent[1].add(grown - anchor.output, counted - added.answer)
            self._lasting.add(grown, counted)
        self._anchor = Anchor(added.counted, reported, output)
        if fresh or self._start is None:
            self._start = self._anchor
        elif fallen:
            self._start = replace(self._start, reported=max(0, self._start.reported - fallen))
        return fallen


def scale(shown: int, counted: int, unseen: int, slope: float, spread: float = _CHANGE, around: int = 0) -> Scale:
    """The scale by which `counted` tokens and what lies beside them are exactly the `shown` ones."""
    if counted <= 0:
        return Scale(shown, slope, 0, spread)
    fixed = min(unseen + around, max(0, round(shown - _LEAST_SLOPE * slope * counted)))
    around = min(around, fixed)
    return Scale(fixed - around, (shown - fixed) / counted, counted, spread, around)


def whole_prompt(found: Scale, tools: int, expected: float, learned: float) -> Scale:
    """The same where the transcript holds messages, system prompt and tools, so that nothing can be unseen. What is
    left over, or too much, is what the provider makes of the tools; without any, it is its tokenizer. Unless that is
    too much to believe: then the transcript holds less than it seems to (texts were shortened, a tool of the
    provider's own ran), or more than was sent.

    `tools`: counted tokens of the schemas; `expected`: tokens of the model for a counted one (`prior`); `learned`: the
    same as the session has it.
    """
    if tools:
        over = round(learned * found.counted) - found.tokens(found.counted)
        if over > 0 and found.spread < _ANY_TOKENIZER and over <= (1 - _LEAST_SLOPE) * learned * tools:
            return replace(found, unseen=0, slope=learned, around=-over)
        return replace(found, unseen=0, around=found.unseen) if found.unseen <= _ONCE + expected * tools else found
    shown = found.tokens(found.counted)
    if found.counted and found.unseen <= shown * _TOKENIZER:
        return replace(found, unseen=0, slope=shown / found.counted)
    return found


_ONCE = 500
"""Tokens of a provider's own instructions for tools: Anthropic names 159 to 530, by model. What it makes of a schema
beyond that is at most as much again as the text of it."""
_TOKENIZER = 0.25
"""Share of a prompt without tools that a tokenizer, and the roles of messages, can make a difference of."""
