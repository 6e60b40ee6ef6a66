"""Distinguish a step of the moment ("push it, please") from a standing instruction ("always answer in English")."""

from inspector.core.facts.rules import rule, simplified

_STEP, _STANDING = rule("steps.step"), rule("steps.standing")


def is_step(sentence: str) -> bool:
    """Is an instruction done for good when it has been followed once?"""
    plain = simplified(sentence)
    return _STEP.search(plain) is not None and _STANDING.search(plain) is None
