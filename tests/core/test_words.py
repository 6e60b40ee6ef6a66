"""Words that go with numbers."""

from decimal import Decimal

import pytest

from inspector.core.words import dollars, sentence_case


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0, "$0.00"),
        (0.381, "$0.38"),
        (Decimal("0.01"), "$0.01"),
        (0.00421, "$0.0042"),
        (Decimal("0.000121"), "$0.00012"),
        (0.0000001, "under $0.0001"),
        (-1204.1, "-$1,204.10"),
        (Decimal("-0.0042"), "-$0.0042"),
    ],
)
def test_dollars(amount: Decimal | float, words: str) -> None:
    assert dollars(amount) == words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("there is no file a.jsonl", "There is no file a.jsonl"),
        ("the model answered nothing", "The model answered nothing"),
        ("image cannot be shown: too large", "Image cannot be shown: too large"),
        ("empty.jsonl is empty", "empty.jsonl is empty"),
        ("notes is empty", "notes is empty"),
        ("sub/the.jsonl is a folder", "sub/the.jsonl is a folder"),
        ("reserve_tokens must be above 0", "reserve_tokens must be above 0"),
        ("A name", "A name"),
        ("", ""),
    ],
)
def test_sentence_case_when_a_name_comes_first_keeps_its_spelling(text: str, shown: str) -> None:
    assert sentence_case(text) == shown
