"""Predict what the provider would report for a buffer whose size it has not reported yet.

The part of the buffer that is not in the transcript is treated as one piece, the *unseen* part. Everything else is
counted. The session's own reports show the slope, the provider's tokens per counted token (docs/architecture.md, "One
true number"): the median of the last ratios of growth (reported / counted), weighted by the counted tokens, because the
ratio of a few tokens is not reliable. A prediction never uses the number that it predicts.
"""

from collections import deque
from copy import copy
from dataclasses import dataclass, replace

from inspector.core.tokens.bands import FIRST, LARGE, Bands, Growth
from inspector.core.tokens.families import family_of
from inspector.core.tokens.growth_ratios import Ratios
from inspector.core.tokens.quantiles import quantile

RECENT = 16
"""Growth ratios used to predict the next request: recent behaviour is the best guide."""
LASTING = 128
"""Growth ratios used for the slope of whole buffers."""

_ESTIMATORS = {"roku": 1.12, "pi": 1.23, "chars4": 1.14}
"""Tokens of o200k per token of a harness's formula, measured over the same sessions as the families' factors."""


def prior(estimator: str, model: str) -> float:
    """Return the slope to assume before any report: the factor of the model's family times that of the estimator."""
    return family_of(model).factor * _ESTIMATORS.get(estimator, 1.0)


_CHANGE = 0.1
"""Relative uncertainty of a change of the counted tokens, on either side, until the session's reports show it."""
_FALL = 2_000
"""Smallest fall of the reported tokens that means a smaller unseen part: a smaller fall is the provider's rounding."""
_BELIEVED = 0.25
"""Largest relative difference from the family's factor at which the ratio of a whole prompt is used."""
_KNOWN_BY = 3
"""Ratios of growth after which the slope of a session is known."""
_AROUND_SUMMARY = 100
"""Smallest distance in tokens from a prediction after a compaction to a bound: the text around the summary is new."""
_TRIED = 8
"""Predictions that decide whether an answer's recorded output is a good measure of its size."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Tokens that the provider would report, and the bounds between which the report most likely is."""

    tokens: int
    low: int
    high: int
    attached: int = 0
    """The part of the tokens that the client most likely re-attaches without recording it."""

    @property
    def band(self) -> tuple[int, int]:
        """Return the bounds (low, high)."""
        return self.low, self.high


def banded(tokens: int, room: int, stays: int) -> Prediction:
    """Return a prediction with bounds `room` tokens below and above; the lower bound is at least `stays` tokens."""
    least = min(tokens, max(0, stays))
    return Prediction(tokens, max(least, tokens - room), tokens + room)


@dataclass(frozen=True, slots=True)
class Scale:
    """Converts counted tokens to provider tokens at one request: a slope, and a constant for tokens not in the file."""

    unseen: int
    """Tokens not in the file; 0 if nothing was reported, or the transcript holds everything."""
    slope: float
    """Tokens of the provider per counted token: the same at all requests of a model."""
    counted: int
    """Counted tokens of the buffer of the request."""
    spread: float = _CHANGE
    """Relative uncertainty of the size of a change."""
    difference: int = 0
    """The provider's count minus the recorded tokens, if the transcript holds everything."""

    @property
    def beside(self) -> int:
        """Return the tokens added to the counted rows: `unseen` or `difference`."""
        return self.unseen + self.difference

    def tokens(self, counted: int) -> int:
        """Return the tokens of a whole buffer by its counted tokens."""
        return max(0, self.beside + self.rows(counted))

    def predict(self, counted: int) -> Prediction:
        """Predict the size of a whole buffer by its counted tokens.

        The width of the band grows with the difference from `self.counted`, the last measured buffer: it is zero if
        nothing changed. The lower bound is at least `unseen`.
        """
        tokens = self.tokens(counted)
        room = round(abs(counted - self.counted) * self.slope * self.spread)
        return banded(tokens, room, self.unseen)

    def rows(self, counted: int) -> int:
        """Return the tokens of some rows alone, without the unseen part."""
        return round(self.slope * counted)


UNSCALED = Scale(unseen=0, slope=1.0, counted=0, spread=0.0)
"""The scale if no session is open, or nothing was reported and the family of models was not measured."""


def scale(
    tokens: int, counted: int, slope: float, spread: float = _CHANGE, *, is_whole: bool = False
) -> Scale:
    """Return the scale by which a buffer with `counted` tokens has exactly `tokens`.

    Args:
        tokens: Tokens of the buffer, as reported or predicted.
        counted: The weight of its recorded part.
        slope: Tokens of the provider per counted token.
        spread: Relative uncertainty of the size of a change.
        is_whole: Does the transcript hold messages, system prompt and tools?
    """
    rows = round(slope * counted)
    beside = tokens - rows
    if beside < -_MOST_BELOW * rows:
        return Scale(unseen=0, slope=tokens / counted, counted=counted, spread=spread)
    if beside < 0 or (is_whole and beside <= _OWN_WORDS + _LITTLE * tokens):
        return Scale(unseen=0, slope=slope, counted=counted, spread=spread, difference=beside)
    return Scale(beside, slope, counted, spread)


_OWN_WORDS = 1_000
"""Upper bound of the tokens that providers add to tools (Anthropic documents 159 to 530, by model)."""
_MOST_BELOW = 0.5
"""Largest share of the recorded tokens by which the provider's count may be lower. If the difference is larger, the
file holds more than was sent, or the numbers are invented, and all rows are scaled down."""
_LITTLE = 0.25
"""Largest share of a prompt by which its full count may differ from the provider's. A larger difference means that the
transcript lacks something, although it seems complete."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The last call whose size was reported."""

    counted: int
    reported: int
    output: int
    """Tokens of the call's answer if the recorded number is final; else 0."""


@dataclass(frozen=True, slots=True)
class Addition:
    """The difference between the buffer to predict and the anchor's buffer."""

    counted: int
    extends: bool
    """Does the buffer begin with the anchor's messages?"""
    answer: int = 0
    """Counted tokens of the anchor's answer if it follows the anchor's buffer; else 0."""
    attached: int = 0
    """Tokens that the client most likely re-attached without recording it, after its own compaction."""
    attached_range: tuple[int, int] = (0, 0)
    """Differences of the least and of the most tokens that may be attached from `attached`."""
    is_turn: bool = False
    """Did the user write one of the new messages?"""
    is_empty: bool = False
    """Does the transcript hold no message of the buffer? Then only reports show its growth."""
    is_same: bool = False
    """Is the buffer the reported one, not yet sent again?"""
    compacted: bool = False
    """Was a summary of the history recorded since the anchor?"""
    is_whole: bool = False
    """Does the transcript hold messages, system prompt and tools, and are the tools a small part? Providers write tool
    schemas in different ways."""
    model: str = ""
    """The model that the buffer is sent to; empty if not known."""
    removed: int = 0
    """Tokens that the client removed since the anchor and that the transcript does not hold."""


class _Learned:
    """What was learned from the reports of one family of models."""

    __slots__ = ("lasting", "recent", "tried")

    def __init__(self) -> None:
        self.recent = (Ratios(RECENT), Ratios(RECENT))
        """Ratios of growth: of all new messages, and of the new messages without the answer."""
        self.lasting = Ratios(LASTING)
        self.tried = (deque[int](maxlen=_TRIED), deque[int](maxlen=_TRIED))

    def copy(self) -> "_Learned":
        """Return an independent copy. O(1)."""
        learned = _Learned()
        plain_ratios, without_output_ratios = self.recent
        learned.recent = (plain_ratios.copy(), without_output_ratios.copy())
        learned.lasting = self.lasting.copy()
        plain_errors, with_output_errors = self.tried
        learned.tried = (plain_errors.copy(), with_output_errors.copy())
        return learned


class Learner:
    """Learns from the reports of one thread, in order, and predicts the next one from earlier reports only. Mutable."""

    def __init__(self, estimator: str, bands: Bands | None = None) -> None:
        self._estimator = estimator
        self._model = ""
        self._expected = 0.0
        self._anchor: Anchor | None = None
        self._start: Anchor | None = None
        """The first report since the last compaction: it has the fewest rows, so it shows the unseen part best."""
        self._by_family: dict[str, _Learned] = {}
        self._learned = _Learned()
        """The entry of the family whose model answered last."""
        self._bands = bands or Bands()
        self._reports = 0
        self._uncounted = deque[int](maxlen=_TRIED)
        """The last amounts of reported growth without a recorded message, in tokens."""

    @property
    def anchor(self) -> Anchor | None:
        """Return the last report; None before the first."""
        return self._anchor

    def copy(self) -> "Learner":
        """Return an independent copy. O(1)."""
        learner = copy(self)
        learner._by_family = {name: learned.copy() for name, learned in self._by_family.items()}
        learner._learned = learner._by_family.get(family_of(self._model).name, _Learned())
        learner._bands = self._bands.copy()
        learner._uncounted = self._uncounted.copy()
        return learner

    def slope(self) -> float:
        """Return the slope of whole buffers."""
        return self._learned.lasting.median(self._prior())

    def spread(self) -> float:
        """Return the relative uncertainty of the size of a large change: half of the ratios are within it."""
        low, middle, high = (self._learned.lasting.quantile(share) for share in (0.25, 0.5, 0.75))
        if low is None or middle is None or high is None or len(self._learned.lasting) < _TRIED:
            return self._doubt()
        return min(0.5, max(0.02, (high - low) / 2 / middle / 2))

    def unseen(self) -> int:
        """Return the tokens of the unseen part, by the first report since the last compaction."""
        start = self._start
        return 0 if start is None else max(0, round(start.reported - self.slope() * start.counted))

    def scale(self, tokens: int, counted: int) -> Scale:
        """Return the scale of a buffer with `tokens` on the screen, of which `counted` are recorded."""
        return scale(tokens, counted, self.slope(), self.spread())

    def predict(self, added: Addition) -> Prediction | None:
        """Predict the next report; None before the first one."""
        anchor = self._anchor
        if anchor is None:
            return None
        if self._is_other_family(added.model):
            return self._convert(anchor, added)
        if added.is_same:
            return Prediction(anchor.reported, anchor.reported, anchor.reported)
        if added.compacted:
            return self._predict_compacted(anchor, added)
        tokens = self._guess(anchor, added)
        if added.removed:
            return Prediction(
                max(0, tokens - added.removed), max(0, tokens - 2 * added.removed), tokens
            )
        kind, change = self._growth(anchor, added, tokens)
        if kind == "uncounted":
            return banded(tokens, self._bands.room(kind, change), stays=0)
        doubt = 0.0 if len(self._learned.lasting) >= _KNOWN_BY else self._doubt()
        return banded(tokens, self._bands.room(kind, change, doubt), self.unseen())

    def _predict_compacted(self, anchor: Anchor, added: Addition) -> Prediction:
        """Predict the size after a compaction, with the files that the client re-attaches."""
        before = self.unseen() + round(self.slope() * anchor.counted)
        recorded = self.scale(before, anchor.counted).predict(added.counted)
        fewer, more = added.attached_range
        low = min(recorded.low + fewer, recorded.tokens - _AROUND_SUMMARY) + added.attached
        high = max(recorded.high + more, recorded.tokens + _AROUND_SUMMARY) + added.attached
        return Prediction(
            max(0, recorded.tokens + added.attached),
            low=max(0, low),
            high=max(0, high),
            attached=added.attached,
        )

    def _guess(self, anchor: Anchor, added: Addition) -> int:
        """Return the most likely size of a buffer that was not compacted."""
        if added.is_empty:
            return max(0, anchor.reported + round(quantile(self._uncounted, 0.5) or 0))
        if not added.extends:
            return max(0, anchor.reported + round(self.slope() * (added.counted - anchor.counted)))
        plain, with_output = self._guesses(anchor, added)
        return max(0, with_output if self._takes_output() else plain)

    def _growth(self, anchor: Anchor, added: Addition, tokens: int) -> tuple[Growth, int]:
        """Return (kind of growth, tokens of which the error is a share)."""
        change = abs(tokens - anchor.reported)
        if not added.extends or added.counted < anchor.counted:
            return "cleared", change
        if added.counted == anchor.counted:
            return "uncounted", anchor.reported
        if change > LARGE:
            return "large", change
        if added.is_turn:
            return "turn", change
        return ("first" if self._reports < FIRST else "grew"), change

    def _is_other_family(self, model: str) -> bool:
        """Has `model` a different tokenizer from the model of the last report?"""
        return bool(model and self._model) and family_of(model).name != family_of(self._model).name

    def _convert(self, anchor: Anchor, added: Addition) -> Prediction:
        """Predict the size of the buffer with a model of another family."""
        family = family_of(added.model)
        slope = family.factor * self._own_rule()
        before = anchor.reported * family.factor / family_of(self._model).factor
        tokens = max(0, round(before + slope * (added.counted - anchor.counted)))
        return banded(tokens, round(family.doubt * tokens), stays=0)

    def _guesses(self, anchor: Anchor, added: Addition) -> tuple[int, int]:
        """Return two predictions of the size in tokens: by the slope alone, and with the recorded output as the answer.

        They are equal if there is no answer or no recorded output.
        """
        grown = added.counted - anchor.counted
        plain, rest = (ratios.median(self._prior()) for ratios in self._learned.recent)
        by_slope = anchor.reported + round(plain * grown)
        if not (anchor.output and added.answer):
            return by_slope, by_slope
        return by_slope, anchor.reported + anchor.output + round(rest * (grown - added.answer))

    def expect(self, slope: float) -> None:
        """Replace the family's prior by a slope that was measured on a body that holds everything sent."""
        self._expected = slope

    def _prior(self) -> float:
        return self._expected or prior(self._estimator, self._model)

    def _own_rule(self) -> float:
        return _ESTIMATORS.get(self._estimator, 1.0)

    def _doubt(self) -> float:
        is_known = self._expected or len(self._learned.lasting) >= _KNOWN_BY
        return _CHANGE if is_known else family_of(self._model).doubt

    def _takes_output(self) -> bool:
        """Does the recorded output predict the answer's size well? It does not if the provider drops thinking later."""
        plain, with_output = (quantile(errors, 0.5) for errors in self._learned.tried)
        return (
            plain is None
            or with_output is None
            or len(self._learned.tried[0]) < 3
            or with_output <= plain
        )

    def report(
        self,
        added: Addition,
        prediction: Prediction | None,
        reported: int,
        output: int,
        model: str,
        *,
        fresh: bool,
    ) -> int:
        """Learn from a report.

        Args:
            added: How the buffer differs from the last reported one.
            prediction: What `predict` returned for it.
            reported: Its tokens by the provider.
            output: Tokens of its answer; 0 if that number is not final.
            model: The model that answered; empty: the same as before.
            fresh: Was the buffer compacted before this call?

        Returns:
            The tokens by which the unseen part became smaller. This happens if the buffer only grew but the reported
            number fell: the client was restarted with fewer tools, or dropped text that it had added to the messages.
        """
        anchor = self._anchor
        is_other = self._is_other_family(model)
        fallen = 0
        predicted = None if is_other else prediction
        if anchor is not None:
            self._learn_errors(anchor, added, reported, predicted, fresh=fresh)
        self._reports += 1
        self._model = model or self._model
        self._learned = self._by_family.setdefault(family_of(self._model).name, _Learned())
        if anchor is not None and added.extends and not is_other:
            fallen = self._learn_growth(anchor, added, reported, predicted)
        if added.is_whole and not len(self._learned.lasting):
            self._learn_whole(added.counted, reported)
        self._anchor = Anchor(added.counted, reported, output)
        if fresh or self._start is None:
            self._start = self._anchor
        elif fallen:
            self._start = replace(self._start, reported=max(0, self._start.reported - fallen))
        return fallen

    def _learn_errors(
        self,
        anchor: Anchor,
        added: Addition,
        reported: int,
        predicted: Prediction | None,
        *,
        fresh: bool,
    ) -> None:
        """Learn the error of the prediction, and the growth of a buffer that has no recorded messages."""
        if predicted is not None and not (added.compacted or added.removed):
            kind, change = self._growth(anchor, added, predicted.tokens)
            self._bands.learn(kind, change, predicted.tokens - reported)
        if added.is_empty and not fresh and reported > anchor.reported:
            self._uncounted.append(reported - anchor.reported)

    def _learn_growth(
        self, anchor: Anchor, added: Addition, reported: int, predicted: Prediction | None
    ) -> int:
        """Learn from a buffer that grew. Return the tokens by which the unseen part became smaller."""
        learned = self._learned
        fallen = 0
        plain, with_output = self._guesses(anchor, added)
        if predicted is not None:
            fallen = predicted.tokens - reported if reported < anchor.reported - _FALL else 0
        plain_errors, with_output_errors = learned.tried
        plain_errors.append(abs(plain - reported))
        with_output_errors.append(abs(with_output - reported))
        grown = reported - anchor.reported
        counted = added.counted - anchor.counted
        plain_ratios, without_output_ratios = learned.recent
        plain_ratios.add(grown, counted)
        if anchor.output and added.answer:
            without_output_ratios.add(grown - anchor.output, counted - added.answer)
        learned.lasting.add(grown, counted)
        return fallen

    def _learn_whole(self, counted: int, reported: int) -> None:
        """Learn the slope from the first report of a buffer that is recorded with system prompt and tools."""
        expected = self._prior()
        if counted and abs(reported / counted - expected) <= _BELIEVED * expected:
            self._learned.lasting.add(reported, counted)
