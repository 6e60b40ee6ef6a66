"""How large the context was before and after a compaction: told once, and both numbers of one kind."""

import pytest

from inspector.core.buffer import EMPTY_VIEW
from inspector.core.session import Compaction, Request, Thread, compaction_sizes
from inspector.core.usage import Usage

CLEARED = Compaction(1, "auto", "micro")
Sizes = tuple[int | None, int | None]


def thread(*reported: int | None, compactions: tuple[Compaction, ...] = ()) -> Thread:
    requests = [Request(n, EMPTY_VIEW, usage=Usage(input=told) if told else None) for n, told in enumerate(reported)]
    return Thread("main", requests=requests, compactions=compactions)


@pytest.mark.parametrize(
    ("compaction", "sizes"),
    [
        (Compaction(1, "auto", tokens_before=990, tokens_after=10), (990, 300)),
        (Compaction(1, "auto"), (1000, 300)),
        (Compaction(2, "manual", tokens_after=70), (300, 70)),
        (Compaction(2, "manual"), (300, None)),
        (Compaction(0, "auto"), (None, 1000)),
    ],
)
def test_sizes(compaction: Compaction, sizes: Sizes) -> None:
    assert compaction_sizes(thread(1000, 300), compaction) == sizes
    assert compaction_sizes(thread(1000, 300, compactions=(compaction,)), compaction) == sizes


@pytest.mark.parametrize(
    ("reported", "compactions", "sizes"),
    [
        ((1000, 300), (Compaction(1, "auto", tokens_before=200, tokens_after=10),), [(1000, 300)]),
        ((None, 300), (Compaction(1, "auto", tokens_before=200, tokens_after=10),), [(None, 300)]),
        ((None, 300), (Compaction(1, "auto", tokens_before=900),), [(900, 300)]),
        ((1000, 300), (CLEARED, Compaction(1, "auto")), [(1000, None), (None, 300)]),
        ((1000, 300), (CLEARED, Compaction(1, "b", tokens_before=1200)), [(1000, None), (1200, 300)]),
        ((1000, 300), (CLEARED, Compaction(1, "b", tokens_before=20)), [(1000, None), (None, 300)]),
    ],
)
def test_none_grows_because_one_number_is_an_estimate(
    reported: tuple[int | None, ...], compactions: tuple[Compaction, ...], sizes: list[Sizes]
) -> None:
    made = thread(*reported, compactions=compactions)
    assert [compaction_sizes(made, compaction) for compaction in compactions] == sizes
