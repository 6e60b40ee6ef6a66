"""When a policy's own count crosses a line, beside when the reported numbers do."""

import pytest

from inspector.core.buffer import EMPTY_VIEW
from inspector.core.policies.verdict import Watermark
from inspector.core.session import Request, Thread
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.usage import Usage
from inspector.workbench.pressure.gauge import lateness

LINE = Watermark("60% L1, L2", 60, "mid", ("L1",))
REPORTED = (50, 61, 70, 30, 40)
BEFORE = (
    "By its own count it does not reach 60% before the compaction at request 3; "
    "by the provider's, it does at request 1."
)
CASES = [
    (
        "later",
        (50, 55, 61, 30, 40),
        (),
        "By its own count it reaches 60% 1 request later than by the provider's.",
    ),
    (
        "earlier",
        (61, 61, 70, 30, 40),
        (),
        "By its own count it reaches 60% 1 request earlier than by the provider's.",
    ),
    (
        "never",
        (10, 20, 30, 10, 20),
        (),
        "By its own count it never reaches 60%; by the provider's, it does.",
    ),
    ("never before a compaction", (10, 20, 30, 10, 20), (3,), BEFORE),
    ("after a compaction", (10, 20, 30, 10, 90), (3,), BEFORE),
    ("at the same request", (50, 61, 70, 30, 40), (3,), ""),
]


@pytest.mark.parametrize(
    ("believed", "compactions", "sentence"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_a_line_that_the_reports_cross_when_the_own_count_differs_is_explained(
    believed: tuple[int, ...], compactions: tuple[int, ...], sentence: str
) -> None:
    requests = [
        Request(n, EMPTY_VIEW, usage=Usage(input=tokens)) for n, tokens in enumerate(REPORTED)
    ]
    pressures = thread_pressures(Thread("main", requests=requests))
    assert lateness(LINE, pressures, believed, compactions).sentence == sentence
