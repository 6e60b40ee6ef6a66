"""Distinguish a one-time instruction ("push it, please") from a standing one ("always answer in English")."""

from inspector.core.facts.rules import rule, simplified

_STEP, _TASK, _PASSING = rule("steps.step"), rule("steps.task"), rule("steps.passing")
_STANDING, _LASTING, _ASIDE = rule("steps.standing"), rule("steps.lasting"), rule("steps.aside")
_HOLDING = rule("steps.holding")


def is_step(sentence: str) -> bool:
    """Is an instruction finished once it has been followed?"""
    plain = simplified(sentence)
    return _STEP.search(plain) is not None and _STANDING.search(plain) is None


def is_task(sentence: str) -> bool:
    """Is an instruction an order, a proposal or a question, rather than a requirement that the work must meet?"""
    plain = simplified(sentence).strip()
    if plain[-1:] in ("?", "？"):
        return True
    is_order = _TASK.search(plain) is not None and not _LASTING.search(plain)
    return is_order and not _STANDING.search(_ASIDE.sub("", plain))


def is_passing(sentence: str) -> bool:
    """Does a rule apply to the current work only, as in "let's do the small ones first" or "skip 5 and 7"?"""
    return _PASSING.search(simplified(sentence)) is not None


def is_lasting(sentence: str) -> bool:
    """Must an instruction be followed again after it was followed once, as with "always" or "avoid"?"""
    return _HOLDING.search(simplified(sentence)) is not None
