"""Which tier a number key means: by the number in its name (L0, L3a), else by its place in the policy's order."""

import re

from inspector.core.policies.catalogue import policy
from inspector.workbench.state.state import State

_NUMBER = re.compile(r"\d+")


def tier_of(state: State, number: int) -> str:
    """The tier of that number in the chosen policy; empty where there is none.

    Where several share it (L3a, L3b): the one that is due, else the one for the chosen kind of provider, first for one
    that can compact remotely.
    """
    names = [tier.name for tier in policy(state.choices.policy).tiers]
    numbers = [int(found[0]) if (found := _NUMBER.search(name)) else None for name in names]
    if not any(one is not None for one in numbers):
        return names[number] if 0 <= number < len(names) else ""
    sharing = [name for name, one in zip(names, numbers, strict=True) if one == number]
    if not sharing:
        return ""
    due = {verdict.tier for verdict in state.outlook.verdicts if verdict.due} if state.outlook else set()
    return next((name for name in sharing if name in due), sharing[0 if state.choices.remote else -1])
