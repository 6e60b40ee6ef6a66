"""What a person is asked: a value that whoever shows it needs, without what works it out."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """`says` and `covers` are our words; `exact` is what will run or be written, whole and to the letter.

    Whoever shows it keeps the two apart: a command may hold a sentence that sounds like ours.
    """

    says: str
    exact: str
    covers: str = ""
    is_diff: bool = False
