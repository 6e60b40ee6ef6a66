"""What holds on, told apart from a step of the moment: "always answer in English" from "push it, please"."""

from inspector.core.facts.rules import rule, simplified

_STEP, _STANDING = rule("steps.step"), rule("steps.standing")


def is_step(sentence: str) -> bool:
    """Is an instruction done for good when it has been followed once?"""
    said = simplified(sentence)
    return _STEP.search(said) is not None and _STANDING.search(said) is None
