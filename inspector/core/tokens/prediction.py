"""Predicted: what the provider would report for a buffer of which it has not said anything yet.

What the transcript does not hold is one opaque piece of the buffer, the *unseen* part; all else is counted, and a
counted token weighs what the session itself says (docs/architecture.md, "One true number"). The slope is the median of
the last ratios of growth (as reported / as counted), each weighing as much as it counted: a handful of tokens says
little. A prediction never knows the number that it predicts.
"""

from bisect import bisect_left
from collections import deque
from copy import copy
from dataclasses import dataclass, replace
from itertools import accumulate

from inspector.core.tokens.bands import FIRST, LARGE, Bands, Growth
from inspector.core.tokens.families import family_of
from inspector.core.tokens.quantiles import quantile

RECENT = 16
"""Ratios that the slope for the next call is learned from: what an agent does now is like what it did a moment ago."""
LASTING = 128
"""Ratios that the slope of whole buffers is learned from."""
_HEAVIEST = 5_000
"""Counted tokens that a ratio weighs at most: a single image, counted as its base64, must not outvote all text."""

_EXPECTED = 1_500
"""Counted tokens that the prior weighs beside what was learned."""

_ESTIMATORS = {"roku": 1.12, "pi": 1.23, "chars4": 1.14}
"""Tokens of o200k for one that a harness's formula counts, over the same sessions."""


def prior(estimator: str, model: str) -> float:
    """The slope as long as nothing was learned: by model family, and by how an estimator differs from o200k."""
    return family_of(model).factor * _ESTIMATORS.get(estimator, 1.0)


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


_CHANGE = 0.1
"""Of what a change of the counted rows is worth, on either side, as long as the session has not said otherwise."""
_FALL = 2_000
"""Tokens that a reported number falls by where the unseen part became smaller: less is a rounding of the provider's."""
_BELIEVED = 0.25
"""How far the ratio of a whole prompt may be from the family's factor, as a share of it, to say anything of that."""
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
    """Tokens that the transcript does not hold; 0 where nothing was reported, and where it holds everything."""
    slope: float
    """Tokens of the provider's for a counted one: the same at all requests of a model."""
    counted: int
    """Of the buffer at that place."""
    spread: float = _CHANGE
    """Relative uncertainty of what a change weighs."""
    difference: int = 0
    """By how much the provider's count is above what is recorded, where the transcript holds everything; below zero
    where the provider counts less."""

    @property
    def beside(self) -> int:
        """Tokens beside the counted rows, whichever of the two they are."""
        return self.unseen + self.difference

    def tokens(self, counted: int) -> int:
        """Tokens of a whole buffer with so many counted ones."""
        return max(0, self.beside + self.rows(counted))

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
"""Where nothing is open, and where nothing was ever reported of a family that nobody measured."""


def scale(shown: int, counted: int, slope: float, spread: float = _CHANGE, *, is_whole: bool = False) -> Scale:
    """Return the scale by which `counted` tokens and what lies beside them are exactly the `shown` ones.

    Args:
        shown: Tokens of the buffer, as reported or predicted.
        counted: The weight of all that the transcript holds of it.
        slope: Tokens of the provider's for a counted one.
        spread: Relative uncertainty of what a change weighs.
        is_whole: The transcript holds messages, system prompt and tools.
    """
    rows = round(slope * counted)
    beside = shown - rows
    if beside < -_MOST_BELOW * rows:
        return Scale(0, shown / counted, counted, spread)
    if beside < 0 or (is_whole and beside <= _OWN_WORDS + _LITTLE * shown):
        return Scale(0, slope, counted, spread, beside)
    return Scale(beside, slope, counted, spread)


_OWN_WORDS = 1_000
"""Tokens that providers put around tools by themselves (Anthropic names 159 to 530, by model), and some to spare."""
_MOST_BELOW = 0.5
"""Share of what is recorded by which the provider may count less: beyond it the file holds more than was sent, or the
numbers are made up, and all rows weigh less."""
_LITTLE = 0.25
"""Share of a prompt by which a count of all of it may differ from the provider's. What exceeds both is something that
the transcript does not hold, whatever it seems to."""


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
    is_turn: bool = False
    """The user wrote something in what came."""
    is_empty: bool = False
    """The transcript holds no message of it: only reports say how it grows."""
    is_same: bool = False
    """It is the very buffer that was reported, and no call of it is known."""
    compacted: bool = False
    """A summary of the history was recorded since the anchor."""
    is_whole: bool = False
    """The transcript holds messages, system prompt and tools of it, and the tools are a small part: providers write
    their schemas in ways of their own."""
    model: str = ""
    """Which it goes to, where that is known."""
    removed: int = 0
    """Tokens that the client removed since the anchor and that the transcript does not hold."""


class _Learned:
    """What the reports of one family of models have taught."""

    __slots__ = ("lasting", "recent", "tried")

    def __init__(self) -> None:
        self.recent = (Ratios(RECENT), Ratios(RECENT))
        """Ratios of growth: of everything that was appended, and of what was appended besides the answer."""
        self.lasting = Ratios(LASTING)
        self.tried = (deque[int](maxlen=_TRIED), deque[int](maxlen=_TRIED))

    def copy(self) -> "_Learned":
        """Return what knows the same, to be taught by itself. O(1)."""
        made = _Learned()
        made.recent = (self.recent[0].copy(), self.recent[1].copy())
        made.lasting = self.lasting.copy()
        made.tried = (self.tried[0].copy(), self.tried[1].copy())
        return made


class Learner:
    """Follows the reports of one thread, in order. Mutable; knows at any time only what was reported before."""

    def __init__(self, estimator: str) -> None:
        self._estimator = estimator
        self._model = ""
        self._expected = 0.0
        self._anchor: Anchor | None = None
        self._start: Anchor | None = None
        """Of the first report of the stretch: it has the fewest rows, so it tells most about what is unseen."""
        self._by_family: dict[str, _Learned] = {}
        self._learned = _Learned()
        """Of the family whose model answered last."""
        self._bands = Bands()
        self._reports = 0
        self._uncounted = deque[int](maxlen=_TRIED)
        """Reported growth of which nothing is recorded."""

    @property
    def anchor(self) -> Anchor | None:
        """The last report; None before the first."""
        return self._anchor

    def copy(self) -> "Learner":
        """Return a learner that knows the same, to be led on by itself. O(1)."""
        made = copy(self)
        made._by_family = {name: learned.copy() for name, learned in self._by_family.items()}
        made._learned = made._by_family.get(family_of(self._model).name, _Learned())
        made._bands, made._uncounted = self._bands.copy(), self._uncounted.copy()
        return made

    def slope(self) -> float:
        """Of whole buffers."""
        return self._learned.lasting.median(self._prior())

    def spread(self) -> float:
        """Relative uncertainty of what a large change weighs: half of the ratios lie within it, on either side."""
        low, middle, high = (self._learned.lasting.quantile(share) for share in (0.25, 0.5, 0.75))
        if low is None or middle is None or high is None or len(self._learned.lasting) < _TRIED:
            return self._doubt()
        return min(0.5, max(0.02, (high - low) / 2 / middle / 2))

    def unseen(self) -> int:
        """Tokens of the unseen part, as far as they are known by now: from the first report of the stretch."""
        start = self._start
        return 0 if start is None else max(0, round(start.reported - self.slope() * start.counted))

    def scale(self, shown: int, counted: int) -> Scale:
        """Of a buffer that is shown with so many tokens."""
        return scale(shown, counted, self.slope(), self.spread())

    def predict(self, added: Addition) -> Prediction | None:
        """What the next report will say; None before the first one."""
        anchor = self._anchor
        if anchor is None:
            return None
        if self._is_other_family(added.model):
            return self._convert(anchor, added)
        if added.is_same:
            return Prediction(anchor.reported, anchor.reported, anchor.reported)
        if added.compacted:
            shown = self.unseen() + round(self.slope() * anchor.counted)
            found, more = self.scale(shown, anchor.counted).predict(added.counted), added.attached
            least, most = added.attached_range
            low, high = found.low + more + least, found.high + more + most
            return Prediction(max(0, found.tokens + more), max(0, low), max(0, high), more)
        tokens = self._guess(anchor, added)
        if added.removed:
            return Prediction(max(0, tokens - added.removed), max(0, tokens - 2 * added.removed), tokens)
        kind, change = self._growth(anchor, added, tokens)
        if kind == "uncounted":
            return banded(tokens, self._bands.room(kind, change), 0)
        doubt = 0.0 if len(self._learned.lasting) >= _KNOWN_BY else self._doubt()
        return banded(tokens, self._bands.room(kind, change, doubt), self.unseen())

    def _guess(self, anchor: Anchor, added: Addition) -> int:
        if added.is_empty:
            return max(0, anchor.reported + round(quantile(self._uncounted, 0.5) or 0))
        if not added.extends:
            return max(0, anchor.reported + round(self.slope() * (added.counted - anchor.counted)))
        plain, with_output = self._guesses(anchor, added)
        return max(0, with_output if self._takes_output() else plain)

    def _growth(self, anchor: Anchor, added: Addition, tokens: int) -> tuple[Growth, int]:
        """(what makes the buffer another one, tokens that its error is a share of)."""
        change = abs(tokens - anchor.reported)
        if not added.extends:
            return "cleared", change
        if added.counted <= anchor.counted:
            return "uncounted", anchor.reported
        if change > LARGE:
            return "large", change
        if added.is_turn:
            return "turn", change
        return ("first" if self._reports < FIRST else "grew"), change

    def _is_other_family(self, model: str) -> bool:
        """Does a model answer whose tokenizer is another than that of the last report?"""
        return bool(model and self._model) and family_of(model).name != family_of(self._model).name

    def _convert(self, anchor: Anchor, added: Addition) -> Prediction:
        """Predict what a model of another family makes of the buffer."""
        family = family_of(added.model)
        slope = family.factor * self._own_rule()
        before = anchor.reported * family.factor / family_of(self._model).factor
        tokens = max(0, round(before + slope * (added.counted - anchor.counted)))
        return banded(tokens, round(family.doubt * tokens), 0)

    def _guesses(self, anchor: Anchor, added: Addition) -> tuple[int, int]:
        """(by the slope alone, with the recorded output for the answer)."""
        grown = added.counted - anchor.counted
        plain, rest = (ratios.median(self._prior()) for ratios in self._learned.recent)
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

    def _own_rule(self) -> float:
        return _ESTIMATORS.get(self._estimator, 1.0)

    def _doubt(self) -> float:
        is_known = self._expected or len(self._learned.lasting) >= _KNOWN_BY
        return _CHANGE if is_known else family_of(self._model).doubt

    def _takes_output(self) -> bool:
        """Does the recorded output tell the size of an answer? Not where the provider drops its thinking again."""
        plain, with_output = (quantile(one, 0.5) for one in self._learned.tried)
        return plain is None or with_output is None or len(self._learned.tried[0]) < 3 or with_output <= plain

    def report(
        self, added: Addition, prediction: Prediction | None, reported: int, output: int, model: str, *, fresh: bool
    ) -> int:
        """Learn from what the provider reported of a buffer.

        Args:
            added: The buffer.
            prediction: What `predict` said of it.
            reported: Tokens of the prompt, as the provider counted them.
            output: Tokens of its answer, 0 where that number is not final.
            model: Which model answered.
            fresh: A stretch begins.

        Returns:
            By how much the unseen part fell: where the buffer only grew and the reported number fell, the client was
            started anew with fewer tools, or dropped what it had put around the messages.
        """
        anchor, is_other, fallen = self._anchor, self._is_other_family(model), 0
        if is_other:
            prediction = None
        if anchor is not None and prediction is not None and not (added.compacted or added.removed):
            self._bands.learn(*self._growth(anchor, added, prediction.tokens), prediction.tokens - reported)
        if anchor is not None and added.is_empty and not fresh and reported > anchor.reported:
            self._uncounted.append(reported - anchor.reported)
        self._reports += 1
        self._model = model or self._model
        self._learned = self._by_family.setdefault(family_of(self._model).name, _Learned())
        if anchor is not None and added.extends and not is_other:
            fallen = self._learn_growth(anchor, added, reported, prediction)
        if added.is_whole and not len(self._learned.lasting):
            self._learn_whole(added.counted, reported)
        self._anchor = Anchor(added.counted, reported, output)
        if fresh or self._start is None:
            self._start = self._anchor
        elif fallen:
            self._start = replace(self._start, reported=max(0, self._start.reported - fallen))
        return fallen

    def _learn_growth(self, anchor: Anchor, added: Addition, reported: int, prediction: Prediction | None) -> int:
        """Learn from a buffer that grew. Returns by how much the unseen part fell."""
        learned, fallen = self._learned, 0
        plain, with_output = self._guesses(anchor, added)
        if prediction is not None:
            fallen = prediction.tokens - reported if reported < anchor.reported - _FALL else 0
        learned.tried[0].append(abs(plain - reported))
        learned.tried[1].append(abs(with_output - reported))
        grown, counted = reported - anchor.reported, added.counted - anchor.counted
        learned.recent[0].add(grown, counted)
        if anchor.output and added.answer:
            learned.recent[1].add(grown - anchor.output, counted - added.answer)
        learned.lasting.add(grown, counted)
        return fallen

    def _learn_whole(self, counted: int, reported: int) -> None:
        """Learn from the first report of a buffer that is recorded with system prompt and tools."""
        expected = self._prior()
        if counted and abs(reported / counted - expected) <= _BELIEVED * expected:
            self._learned.lasting.add(reported, counted)
