"""How large it was what the client sent, where something else was forwarded: nobody reported that, it is worked out.

From the nearest request that was reported, by what the buffers differ in, at the rate at which reported numbers grew
with counted ones in this thread.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from inspector.core.buffer import Prompt, View, shared
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.tokens.estimators import buffer_tokens, estimator

_ESTIMATOR = estimator("roku")
_BACK = 24
"""Steps from which the rate is learned."""
_LEAST = 20
"""Tokens by which a buffer must have grown to tell of it."""


def asked_tokens(steps: Sequence[Exchange], at: int) -> int | None:
    """Tokens of the body that the client sent for that step; None where nothing was reported yet."""
    one = steps[at]
    near = [one, *steps[max(0, at - 1) : at], *[each for each in steps[max(0, at - _BACK) : at] if each.sent is None]]
    asked = _counted(one.asked.view, one.asked.prompt)
    known = [(abs(asked - _raw(each)), -n, each) for n, each in enumerate(near) if _reported(each)]
    if not known:
        return None
    *_, nearest = min(known)
    found = _reported(nearest) + round((asked - _raw(nearest)) * _rate(steps[max(0, at - _BACK) : at + 1]))
    return max(found, _reported(one) if asked >= _raw(one) else 0)


def _rate(steps: Sequence[Exchange]) -> float:
    """Reported tokens a counted one."""
    told = [each for each in steps if _reported(each)]
    grown = counted = 0
    for former, each in pairwise(told):
        if shared(former.body.view, each.body.view) == former.body.view.length:
            grown += _reported(each) - _reported(former)
            counted += _raw(each) - _raw(former)
    if counted >= _LEAST and grown > 0:
        return grown / counted
    whole = [_reported(each) / raw for each in told if (raw := _raw(each))]
    return median(whole) if whole else 1.0


def _reported(one: Exchange) -> int:
    return one.reply.usage.prompt if one.reply is not None and one.reply.usage is not None else 0


def _raw(one: Exchange) -> int:
    return _counted(one.body.view, one.body.prompt)


def _counted(view: View, prompt: Prompt) -> int:
    return buffer_tokens(_ESTIMATOR, view, prompt)
