"""How large the buffer was before and after a compaction: the buffer that was cut, not the request before it."""

import pytest

from inspector.core.arrivals import changed_places
from inspector.core.buffer import EMPTY_VIEW, Stretch, View
from inspector.core.session import Compaction, Request, Thread
from inspector.core.tokens.change_sizes import change_sizes, compaction_sizes, promise_words
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.usage import Usage
from tests.core.policies.build import assistant, result, user

CLEARED = Compaction(1, "auto", "micro")
ROKU = estimator("roku")
Sizes = tuple[int | None, int | None]


def thread(*reported: int | None, compactions: tuple[Compaction, ...] = ()) -> Thread:
    requests = [
        Request(n, EMPTY_VIEW, usage=Usage(input=told) if told else None)
        for n, told in enumerate(reported)
    ]
    return Thread("main", requests=requests, compactions=compactions)


def sizes_of(of: Thread, compaction: Compaction) -> Sizes:
    return compaction_sizes(of, thread_pressures(of, ROKU), compaction).tokens


@pytest.mark.parametrize(
    ("compaction", "sizes"),
    [
        (Compaction(1, "auto", tokens_before=990, tokens_after=10), (990, 300)),
        (Compaction(1, "auto"), (1000, 300)),
        (Compaction(2, "manual", tokens_after=70), (300, 300)),
        (Compaction(0, "auto"), (None, 1000)),
    ],
)
def test_sizes_of_one_compaction_are_recorded_or_predicted(
    compaction: Compaction, sizes: Sizes
) -> None:
    assert sizes_of(thread(1000, 300, compactions=(compaction,)), compaction) == sizes


@pytest.mark.parametrize(
    ("reported", "compactions", "sizes"),
    [
        ((1000, 300), (Compaction(1, "auto", tokens_before=200, tokens_after=10),), [(1000, 300)]),
        ((None, 300), (Compaction(1, "auto", tokens_before=200, tokens_after=10),), [(None, 300)]),
        ((None, 300), (Compaction(1, "auto", tokens_before=900),), [(900, 300)]),
        ((1000, 300), (CLEARED, Compaction(1, "auto")), [(1000, None), (None, 300)]),
        (
            (1000, 300),
            (CLEARED, Compaction(1, "b", tokens_before=1200)),
            [(1000, None), (1200, 300)],
        ),
        ((1000, 300), (CLEARED, Compaction(1, "b", tokens_before=20)), [(1000, None), (None, 300)]),
    ],
)
def test_sizes_where_one_number_is_an_estimate_show_no_growth(
    reported: tuple[int | None, ...], compactions: tuple[Compaction, ...], sizes: list[Sizes]
) -> None:
    made = thread(*reported, compactions=compactions)
    assert [sizes_of(made, compaction) for compaction in compactions] == sizes


def grown(cut: int) -> tuple[Thread, View]:
    """A thread and the buffer that was cut before its third request.

    Requests of 10,000 and 10,400 tokens; after the answer of the second and its large result, all but `cut` messages
    were removed. The third request was reported with 10,380 tokens.
    """
    stretch = Stretch(own=[user("Read the ledger. " * 400)])
    first = stretch.view()
    stretch.append(assistant("", ("a", "read", {"path": "a.py"})), result("a", "x = 1\n" * 250))
    second = stretch.view()
    stretch.append(assistant("", ("b", "read", {"path": "b.py"})), result("b", "y = 2\n" * 4_000))
    whole = stretch.view()
    after = Stretch(own=whole.messages()[-cut:])
    requests = [
        Request(0, first, usage=Usage(10_000, output=20)),
        Request(1, second, usage=Usage(10_400, output=20)),
        Request(2, after.view(), usage=Usage(10_380)),
    ]
    made = Compaction(2, "by hand", "edit")
    made_by_hand = Thread(
        "main", requests=requests, messages=whole.messages(), end=after.view(), compactions=(made,)
    )
    return made_by_hand, whole


def test_size_before_a_step_by_hand_is_that_of_the_buffer_that_was_cut() -> None:
    made, whole = grown(2)
    pressures = thread_pressures(made, ROKU)
    sizes = compaction_sizes(made, pressures, made.compactions[0])
    shorter = Thread("main", requests=made.requests[:2], messages=made.messages, end=whole)
    assert sizes.before.tokens == sizer(thread_pressures(shorter, ROKU), None).pressure.tokens
    assert sizes.before.kind == "predicted"
    assert (sizes.before.tokens or 0) > 15_000, (
        "the answer and its result stood in the buffer that was cut"
    )
    assert sizes.after.tokens == 10_380
    assert (sizes.freed or 0) > 5_000, "the request before it would say that 20 were freed"


def test_sizes_before_are_predicted_once_and_kept_as_the_thread_grows() -> None:
    made, _ = grown(2)
    pressures = thread_pressures(made, ROKU)
    before = change_sizes(made, pressures, 2)
    assert changed_places(made) == [2]
    assert list(pressures.before) == [2]
    longer = Thread(
        "main",
        requests=[*made.requests, Request(3, made.end, usage=Usage(10_400))],
        messages=made.messages,
        end=made.end,
        compactions=made.compactions,
    )
    later = thread_pressures(longer, ROKU, pressures)
    assert later.before == pressures.before
    assert change_sizes(longer, later, 2) == before


def held(promised: tuple[int, int, int] | None, reported: int | None) -> tuple[Thread, Compaction]:
    """A request of 15,402 tokens was held and cut."""
    view = Stretch(own=[user("go")]).view()
    made = Compaction(1, "proxy", "edit", predicted=(15_402, 15_000, 15_800))
    usage = Usage(reported) if reported is not None else None
    requests = [
        Request(0, view, usage=Usage(10_000)),
        Request(1, view, usage=usage, predicted=promised),
    ]
    return Thread("main", requests=requests, end=view, compactions=(made,)), made


def test_size_before_a_cut_is_what_was_predicted_of_the_held_request() -> None:
    made, cut = held((11_718, 11_350, 12_086), 13_299)
    sizes = compaction_sizes(made, thread_pressures(made, ROKU), cut)
    assert sizes.tokens == (15_402, 13_299)
    assert (sizes.before.kind, sizes.before.band) == ("predicted", (15_000, 15_800))


PROMISED, PROMISE = (11_718, 11_350, 12_086), "Predicted about 11,718 (11,350 to 12,086)"
WHY = "the range, because about 3,684 tokens should have been freed, but"


@pytest.mark.parametrize(
    ("promised", "reported", "words"),
    [
        (PROMISED, 12_000, f"{PROMISE}, reported 12,000: within the range."),
        (PROMISED, 13_299, f"{PROMISE}, reported 13,299: 1,213 above {WHY} 2,103 were."),
        (PROMISED, 11_000, f"{PROMISE}, reported 11,000: 350 below {WHY} 4,402 were."),
        (PROMISED, None, f"{PROMISE}; no size was reported."),
        (None, 13_299, ""),
    ],
)
def test_promise_beside_the_report_names_the_difference_outside_the_range(
    promised: tuple[int, int, int] | None, reported: int | None, words: str
) -> None:
    made, cut = held(promised, reported)
    assert (
        promise_words(made, cut, compaction_sizes(made, thread_pressures(made, ROKU), cut)) == words
    )
