"""Where the versions of Pi differ: one rule book, that of the newest Pi, and the older versions as overrides of it."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

Profile: TypeAlias = Literal["seed", "upstream", "newest"]


@dataclass(frozen=True, slots=True)
class PiRules:
    """The decisions in which versions of Pi differ. The defaults are those of Pi 1.5."""

    version: str = "1.5"
    counts_as_code: bool = True
    """The trigger counts as Pi's code does. False: as the design, by the reported prompt alone."""
    cuts_by_visibility: bool = True
    """The cut depends on what an entry shows the model. False: on the type of the entry."""
    counts_user_images: bool = True
    skips_empty_usage: bool = True
    """A usage whose counts are all zero says nothing about the context."""
    serialises_thinking: bool = False
    """The summariser reads the assistant's thinking."""
    limits_summary: bool = False
    """The reserve bounds the length of a summary."""
    focuses_turn_prefix: bool = True
    """The summary of a turn's beginning follows the user's instructions, too."""
    keeps_previous_summary: bool = True
    """If the turn right behind a summary is split, that summary is kept. False: it is lost."""
    refuses_cut_summary: bool = True
    """A summary that ends at the token limit is a failure."""
    refuses_empty_summary: bool = False
    keeps_results_with_calls: bool = False
    """No cut between a call and its result, even if something else came between them."""


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
    """Return the rules of a profile. Safe mode adds the proposals that mend what a version loses."""
    rules = _BY_PROFILE[profile]
    if not is_safe:
        return rules
    return replace(
        rules,
        keeps_previous_summary=True,
        refuses_empty_summary=True,
        keeps_results_with_calls=True,
    )
