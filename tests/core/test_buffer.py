"""Buffers as views: whatever is appended, gone back on or rewritten, a view says what a plain list would."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Stretch, View, shared
from inspector.core.drops import thread_drops
from inspector.core.message import Message, Text
from inspector.core.session import Request, Thread


def message(name: str) -> Message:
    return Message(name, "user", (Text("x" * (len(name) % 7 + int(name[1:]) % 11)),))


def weigh(one: Message) -> int:
    return len(one.text) + 1


STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "back", "rewrite", "look"]), st.integers(0, 30)),
    max_size=40,
)


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
                new = {
                    k: (plain[k], message(f"r{n}{k}")) for k in {at % len(plain), size % len(plain)}
                }
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
            assert list(View(view.stretch, start).backwards()) == wanted[:start][::-1]
            assert View(view.stretch, start).weight("v", weigh) == sum(map(weigh, wanted[:start]))
        base = view.stretch.base
        assert [*(base or ()), *view.stretch.own][: view.length] == wanted
    for (one, mine), (other, theirs) in pairwise(seen):
        same = shared(one, other)
        assert mine[:same] == theirs[:same]
        assert same in (len(mine), len(theirs)) or mine[same] is not theirs[same]
        rewritten = other.rewritten_since(one)
        if rewritten is not None:
            assert [rewritten[k][1] if k in rewritten else m for k, m in enumerate(mine)] == theirs[
                : len(mine)
            ]
            assert all(mine[k] is old for k, (old, _) in rewritten.items())
        else:
            assert (
                len(theirs) < len(mine)
                or mine != theirs[: len(mine)]
                or one.stretch is not other.stretch
            )


def test_clearing_old_messages_costs_what_was_cleared() -> None:
    """1,100 of them, more than Python's calls may be deep, each far in front of the end: neither weighed nor compared
    anew is what stands after it."""
    weighed = 0

    def watched(one: Message) -> int:
        nonlocal weighed
        weighed += 1
        return len(one.text)

    count, cleared = 3_000, 1_100
    old = [message(f"m{n}") for n in range(count)]
    stretch = Stretch(own=old)
    total, former = stretch.view().weight("w", watched), stretch.view()
    requests = [Request(0, former)]
    for n in range(cleared):
        new = Message(f"m{2 * n}", "user", (Text("gone"),))
        stretch = Stretch(stretch.view(), (), {2 * n: (old[2 * n], new)})
        total += len(new.text) - len(old[2 * n].text)
        assert stretch.view().weight("w", watched) == total
        former = stretch.view()
        requests.append(Request(n + 1, former))
    assert weighed == count + 2 * cleared
    found = thread_drops(Thread("main", requests=requests)).found
    assert [(drop.request, drop.kept) for drop in found] == [
        (n + 1, count - 1) for n in range(cleared)
    ]
