"""The rules that differ between versions of Pi: those of the newest version, and older versions as overrides."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

Profile: TypeAlias = Literal["seed", "upstream", "newest"]


@dataclass(frozen=True, slots=True)
class PiRules:
    """The rules that differ between versions of Pi. The defaults are those of Pi 1.5."""

    version: str = "1.5"
    counts_as_code: bool = True
    """The trigger counts as Pi's code does. False: as Pi's design does, by the reported prompt only."""
    cuts_by_visibility: bool = True
    """The cut depends on whether the model sees an entry. False: it depends on the type of the entry."""
    counts_user_images: bool = True
    skips_empty_usage: bool = True
    """A usage record with only zeros is ignored."""
    serialises_thinking: bool = False
    """The summariser reads the assistant's thinking."""
    limits_summary: bool = False
    """The reserve limits the length of a summary."""
    focuses_turn_prefix: bool = True
    """The user's instructions also apply to the summary of a turn's beginning."""
    keeps_previous_summary: bool = True
    """A summary is kept if the turn right after it is split. False: it is lost."""
    refuses_cut_summary: bool = True
    """A summary that was cut at the token limit is a failure."""
    refuses_empty_summary: bool = False
    keeps_results_with_calls: bool = False
    """A cut never separates a call from its result, even if other entries are between them."""


NEWEST = PiRules()
UPSTREAM = PiRules(
    version="0.73",
    cuts_by_visibility=False,
    counts_user_images=False,
    skips_empty_usage=False,
    serialises_thinking=True,
    limits_summary=True,
    focuses_turn_prefix=False,
    keeps_previous_summary=False,
    refuses_cut_summary=False,
)
SEED = replace(UPSTREAM, version="0.58", counts_as_code=False)
_BY_PROFILE = {"seed": SEED, "upstream": UPSTREAM, "newest": NEWEST}


@lru_cache
def find_rules(profile: Profile, is_safe: bool) -> PiRules:
    """Return the rules of a profile. Safe mode adds the proposed fixes for losses in these versions."""
    rules = _BY_PROFILE[profile]
    if not is_safe:
        return rules
    return replace(
        rules,
        keeps_previous_summary=True,
        refuses_empty_summary=True,
        keeps_results_with_calls=True,
    )
