"""A policy that somebody else wrote, guarded: what goes wrong in it is one sentence with file and line, and what it
says is checked.

It is checked once when it is loaded (a class instead of an object, a watermark on a setting or a tier that does not
exist), and after every tier (a message twice, a fate that does not exist, a result parted from its call).
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
"""Characters of an id, or of a name that a policy made up, in a sentence."""


def guard_policy(
    inner: Any, origin: str, path: Path | None = None, source: str = ""
) -> Policy[Any, Any]:
    """Return the policy with guarded methods, and check what it says of itself.

    Args:
        inner: the object that the file or the package offers.
        whose: what names it in sentences: its path, or `The policy plug-in 'x'`.
        path: the file of its code, whose lines are named in sentences.
        source: the file by which it is chosen; empty for one that is chosen by its name.

    Raises:
        InspectorError: for a policy that contradicts itself.
    """
    if isinstance(inner, type):
        raise InspectorError(
            f"{origin} holds a class. Make an object of it: POLICY = {inner.__name__}()."
        )
    guarded = cast(Policy[Any, Any], GuardedPolicy(inner, origin, path, source))
    _check_watermarks(guarded, origin)
    return guarded


class GuardedPolicy:
    """Passes everything on to the policy of somebody else."""

    def __init__(self, inner: Any, origin: str, path: Path | None, source: str) -> None:
        self._inner, self._origin = inner, origin
        self._path = path.resolve() if path is not None else None
        self.source = source

    @property
    def reference(self) -> str:
        """What names it on every face: its file, else its name."""
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
        """Pass needs and answers on, and check what the conversation ends with."""
        try:
            result = yield from conversation
        except (InspectorError, Failure):
            raise
        except Exception as error:
            if name == "turn" and self._line_of(error) is None:
                raise  # whoever watches the turn ended it
            raise self._failure(name, error) from error
        for outcome in _outcomes_in(result):
            _check_outcome(outcome, self._origin)
            if context is not None:
                _check_tool_pairs(context.buffer, outcome, self._origin)
        return result

    def _failure(self, name: str, error: Exception) -> InspectorError:
        """Return the sentence: file, line, what went wrong."""
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
    """Yield the outcomes that a conversation ended with: of one tier, of several, of a turn."""
    results = result.outcomes if isinstance(result, TurnResult) else result
    for item in results if isinstance(results, tuple | list) else (results,):
        if isinstance(item, Outcome):
            yield item


def _check_outcome(outcome: Outcome[Any], origin: str) -> None:
    """Raise InspectorError if a message is there twice, or has a fate that does not exist. O(messages)."""
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
    """Raise InspectorError if the tier parted a tool result from its call. O(messages).

    What was parted before the tier ran is not its fault.
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
    """Raise InspectorError if a watermark moves by a setting, or fires a tier, that the policy does not have."""
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
