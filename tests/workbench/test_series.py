"""A curve has a gap where nobody told a number: never a zero."""

from inspector.core.buffer import EMPTY_VIEW
from inspector.core.session import Request, Session, Thread
from inspector.core.usage import Usage
from inspector.workbench.pressure.timeline import series
from inspector.workbench.workbench import Workbench


def test_a_request_without_usage_is_a_gap() -> None:
    told = Request(0, EMPTY_VIEW, usage=Usage(input=5, cache_read=7, cache_write=2, output=3))
    under_way = Request(1, EMPTY_VIEW)
    bench = Workbench()
    bench.open(Session("made", (Thread("main", requests=(told, under_way)),)))
    found = series(bench.state)
    assert found is not None
    assert found.reported == (14, None)
    assert (found.cache_read, found.fresh, found.output) == ((7, None), (7, None), (3, None))


def test_curves_of_a_session_that_grew_are_those_of_the_whole_session() -> None:
    requests = [
        Request(n, EMPTY_VIEW, usage=Usage(n, 7, 2, 3) if n % 3 else None) for n in range(9)
    ]
    bench, former = Workbench(), None
    for length in (3, 4, 8, 9):
        bench.open(Session("made", (Thread("main", requests=requests[:length]),), path="made"))
        former = series(bench.state, former)
        assert former == series(bench.state)
        assert former is not None
        assert len(former.reported) == length
