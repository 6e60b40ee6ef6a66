"""Guard a policy of a third party: an error in it becomes one sentence with file and line, and its results are checked.

The policy is checked once when it is loaded (a class instead of an object, a watermark on a setting or a tier that does
not exist), and after every tier (a duplicate message, a fate that does not exist, a result separated from its call).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from traceback import extract_tb
from types import GeneratorType, TracebackType
from typing import Any, cast, get_args

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.needs import Conversation, Failure
from inspector.core.outcome import FateName, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.settings import has_setting, settable_fields
from inspector.core.policies.turn import TurnResult
from inspector.core.validity import Invalid, find_refusals

_FATES = get_args(FateName)
_PARTED = "result-without-call"
_SHOWN = 60
"""Largest number of characters of a policy's ids and names in a sentence."""


def guard_policy(
    inner: Any, origin: str, path: Path | None = None, source: str = ""
) -> Policy[Any, Any]:
    """Return a policy with guarded methods, after a check of its watermarks.

    Args:
        inner: the policy object of the file or the package.
        origin: the policy's name in sentences: its path, or `The policy plug-in 'x'`.
        path: the file of the policy's code, whose lines are named in sentences.
        source: the file by which the policy is chosen; empty for a policy that is chosen by its name.

    Raises:
        InspectorError: the object is a class, or a watermark refers to a setting or a tier that does not exist.
    """
    if isinstance(inner, type):
        raise InspectorError(
            f"{origin} holds a class. Make an object of it: POLICY = {inner.__name__}()."
        )
    guarded = cast(Policy[Any, Any], GuardedPolicy(inner, origin, path, source))
    _check_watermarks(guarded, origin)
    return guarded


class GuardedPolicy:
    """Wraps a policy of a third party: turns its errors into sentences and checks its outcomes."""

    def __init__(self, inner: Any, origin: str, path: Path | None, source: str) -> None:
        self._inner = inner
        self._origin = origin
        self._path = path.resolve() if path is not None else None
        self.source = source

    @property
    def reference(self) -> str:
        """Return the identifier of the policy in all views: its file, else its name."""
        return self.source or str(self._inner.name)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not callable(value) or isinstance(value, type):
            return value
        guarded = self._guarded(name, value)
        self.__dict__[name] = guarded
        return guarded

    def _guarded(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*args: Any, **more: Any) -> Any:
            try:
                result = method(*args, **more)
            except (InspectorError, Failure):
                raise
            except Exception as error:
                raise self._failure(name, error) from error
            if not isinstance(result, GeneratorType):
                return result
            context = next(
                (argument for argument in args if isinstance(argument, PolicyContext)), None
            )
            return self._converse(name, result, context)

        return call

    def _converse(
        self,
        name: str,
        conversation: "GeneratorType[Any, Any, Any]",
        context: PolicyContext[Any, Any] | None,
    ) -> Conversation[Any]:
        """Forward needs and answers, and check the outcomes at the end of the conversation."""
        try:
            result = yield from conversation
        except (InspectorError, Failure):
            raise
        except Exception as error:
            if name == "turn" and self._line_of(error) is None:
                raise  # the caller that watches the turn ended it
            raise self._failure(name, error) from error
        for outcome in _outcomes_in(result):
            _check_outcome(outcome, self._origin)
            if context is not None:
                _check_tool_pairs(context.buffer, outcome, self._origin)
        return result

    def _failure(self, name: str, error: Exception) -> InspectorError:
        """Return an error with a sentence: file, line, and the message of `error`."""
        line = self._line_of(error)
        place = f", line {line}" if line is not None else f", in {name}"
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return InspectorError(
            f"{self._origin}{place}: {words}. Correct the policy and run it again."
        )

    def _line_of(self, error: Exception) -> int | None:
        """Return the innermost line of the policy's own file that the error went through."""
        trace: TracebackType | None = error.__traceback__
        lines = [frame.lineno for frame in extract_tb(trace) if self._is_own(frame.filename)]
        return lines[-1] if lines else None

    def _is_own(self, filename: str) -> bool:
        return self._path is not None and Path(filename).resolve() == self._path


def _outcomes_in(result: Any) -> Iterator[Outcome[Any]]:
    """Yield the outcomes in the result of a conversation: of one tier, of several, or of a turn."""
    results = result.outcomes if isinstance(result, TurnResult) else result
    for item in results if isinstance(results, tuple | list) else (results,):
        if isinstance(item, Outcome):
            yield item


def _check_outcome(outcome: Outcome[Any], origin: str) -> None:
    """Raise InspectorError if a message occurs twice, or has a fate that does not exist. O(messages)."""
    counts = Counter(message.id for message in outcome.buffer.messages)
    twice = next((message for message, count in counts.items() if count > 1), None)
    if twice is not None:
        raise InspectorError(
            f"{origin}: after {outcome.tier} the buffer has the message {twice[:_SHOWN]!r} {counts[twice]} times. "
            "Each message needs a unique id: see `inserted`."
        )
    for message, fate in outcome.changed.items():
        if fate not in _FATES:
            raise InspectorError(
                f"{origin}: {outcome.tier} gives the message {message[:_SHOWN]!r} the fate {str(fate)[:_SHOWN]!r}, "
                f"which does not exist. Use one of {', '.join(_FATES)}."
            )


def _check_tool_pairs(before: Buffer, outcome: Outcome[Any], origin: str) -> None:
    """Raise InspectorError if the tier separated a tool result from its call. O(messages).

    Results that were already separated before the tier ran do not count.
    """
    parted_before = {refusal.message for refusal in _find_parted(before)}
    for refusal in _find_parted(outcome.buffer):
        if refusal.message not in parted_before:
            raise InspectorError(
                f"{origin}: after {outcome.tier} message {refusal.message[:_SHOWN]!r} is parted from its tool call. "
                f"{refusal.why} Keep or remove a call and its results together."
            )


def _find_parted(buffer: Buffer) -> list[Invalid]:
    return [refusal for refusal in find_refusals(buffer) if refusal.rule == _PARTED]


def _check_watermarks(policy: Policy[Any, Any], origin: str) -> None:
    """Raise InspectorError if a watermark refers to a setting or a tier that the policy does not have."""
    settings = policy.settings()
    tiers = [tier.name for tier in policy.tiers]
    for line in policy.watermarks(settings):
        if line.setting and not has_setting(settings, line.setting):
            raise InspectorError(
                f"{origin}: the setting {line.setting!r} of the watermark {line.label!r} does not exist. "
                f"Its settings are {', '.join(setting.name for setting in settable_fields(settings))}."
            )
        for tier in line.tiers:
            if tier not in tiers:
                raise InspectorError(
                    f"{origin}: the tier {tier!r} of the watermark {line.label!r} does not exist. "
                    f"Its tiers are {', '.join(tiers) or 'none'}."
                )
