"""Buffers as views: whatever is appended, gone back on or rewritten, a view says what a plain list would."""

from itertools import pairwise
from time import perf_counter

from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Stretch, View
from inspector.core.message import Message, Text
from inspector.core.overlap import shared


def message(name: str) -> Message:
    return Message(name, "user", (Text("x" * (len(name) % 7 + int(name[1:]) % 11)),))


def weigh(one: Message) -> int:
    return len(one.text) + 1


STEPS = st.lists(st.tuples(st.sampled_from(["append", "back", "rewrite", "look"]), st.integers(0, 30)), max_size=40)


@given(STEPS)
def test_a_view_is_the_list_it_stands_for(steps: list[tuple[str, int]]) -> None:
    plain: list[Message] = []
    stretch = Stretch()
    seen: list[tuple[View, list[Message]]] = [(stretch.view(), [])]
    for n, (what, size) in enumerate(steps):
        at = size % (len(plain) + 1)
        match what:
            case "append":
                more = [message(f"m{n}{k}") for k in range(size % 4)]
                stretch.append(*more)
                plain = plain + more
            case "back":
                stretch, plain = Stretch(View(stretch, at)), plain[:at]
            case "rewrite" if plain:
                new = {k: (plain[k], message(f"r{n}{k}")) for k in {at % len(plain), size % len(plain)}}
                stretch = Stretch(stretch.view(), (), new)
                plain = [new[k][1] if k in new else one for k, one in enumerate(plain)]
            case _:
                assert stretch.view().weight("w", weigh) == sum(map(weigh, plain))
        seen.append((stretch.view(), list(plain)))
    for view, wanted in seen:
        assert list(view.messages()) == wanted
        assert list(view.backwards()) == wanted[::-1]
        assert view.weight("w", weigh) == sum(map(weigh, wanted))
        for start in range(len(wanted) + 1):
            assert list(view.tail(start)) == wanted[start:]
            assert View(view.stretch, start).weight("v", weigh) == sum(map(weigh, wanted[:start]))
        base = view.stretch.base
        assert [*(base or ()), *view.stretch.own][: view.length] == wanted
    for (one, mine), (other, theirs) in pairwise(seen):
        same = shared(one, other)
        assert mine[:same] == theirs[:same]
        assert same in (len(mine), len(theirs)) or mine[same] is not theirs[same]
        rewritten = other.rewritten_since(one)
        if rewritten is not None:
            assert [rewritten[k][1] if k in rewritten else m for k, m in enumerate(mine)] == theirs[: len(mine)]
            assert all(mine[k] is old for k, (old, _) in rewritten.items())
        else:
            assert len(theirs) < len(mine) or mine != theirs[: len(mine)] or one.stretch is not other.stretch


def test_clearing_old_messages_costs_what_was_cleared() -> None:
    """Twice as much is twice as dear, however far back it lies: not four times."""

    def took(count: int) -> float:
        begun = perf_counter()
        stretch = Stretch(own=[message(f"m{n}") for n in range(3 * count)])
        former = stretch.view()
        for n in range(count):
            stretch = Stretch(stretch.view(), [message(f"n{n}")], {3 * n: (former.messages()[0], message(f"c{n}"))})
            view = stretch.view()
            view.weight("w", weigh)
            shared(former, view)
            former = view
            if n == 0:
                begun = perf_counter()
        return perf_counter() - begun

    took(10)
    assert took(1) >= 0
