"""Words that go with numbers."""

from decimal import Decimal

import pytest

from inspector.core.words import dollars


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
