"""What goes wrong, and what a tier is told of it: every fault over every dialect."""

import threading

import pytest

from inspector.core.errors import Cancelled
from inspector.core.needs import (
    AskModel,
    ContextWindowExceeded,
    Failure,
    ProviderFailure,
    RemoteCompact,
    Summarize,
    Timeout,
)
from inspector.providers.answerers import Api
from inspector.simulated.server import SimulatedServer
from tests.providers.providing import WIRES, asking, call, in_thread, provider, user

NEED = Summarize("Summarise.", "some text", timeout_s=30)
COMPACT = RemoteCompact("", (user("u", "x"),), 30)

REFUSALS: list[tuple[str, type[Failure], int | None, str]] = [
    ("400", ProviderFailure, 400, "http"),
    ("401", ProviderFailure, 401, "http"),
    ("403", ProviderFailure, 403, "http"),
    ("404", ProviderFailure, 404, "http"),
    ("408", Timeout, None, ""),
    ("409", ProviderFailure, 409, "http"),
    ("413", ContextWindowExceeded, None, ""),
    ("429:7", ProviderFailure, 429, "http"),
    ("500", ProviderFailure, 500, "http"),
    ("503", ProviderFailure, 503, "http"),
    ("529", ProviderFailure, 529, "http"),
    ("overflow", ContextWindowExceeded, None, ""),
    ("overflow-output", ContextWindowExceeded, None, ""),
    ("overflow-late", ContextWindowExceeded, None, ""),
    ("garbage", ProviderFailure, None, "broken"),
    ("cut", ProviderFailure, None, "broken"),
    ("cut:0", ProviderFailure, None, "broken"),
    ("end", ProviderFailure, None, "broken"),
    ("end:0", ProviderFailure, None, "broken"),
    ("no-key", ProviderFailure, 401, "http"),
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("fault", "kind", "status", "how"), REFUSALS, ids=[one[0] for one in REFUSALS]
)
def test_a_fault_is_the_right_failure(
    simulated: SimulatedServer,
    wire: Api,
    fault: str,
    kind: type[Failure],
    status: int | None,
    how: str,
) -> None:
    simulated.world.faults.push(fault)
    with provider(simulated, wire) as one:
        with pytest.raises(kind) as failed:
            one.summarize(NEED)
        assert one.summarize(NEED).text  # and the next call is well again
    assert failed.value.elapsed_ms > 0
    assert len(simulated.world.seen) == 2  # nothing was tried twice behind our back
    if isinstance(failed.value, ProviderFailure):
        assert (failed.value.status, failed.value.kind) == (status, how)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", ["cut", "garbage", "overflow-late", "error-event", "500"])
def test_a_fault_of_a_call_without_streaming(
    simulated: SimulatedServer, wire: Api, fault: str
) -> None:
    simulated.world.faults.push(fault)
    expected = ContextWindowExceeded if fault == "overflow-late" else ProviderFailure
    with provider(simulated, wire) as one, pytest.raises(expected):
        one.ask(AskModel(asking(), stream=False))


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_in_mid_stream(simulated: SimulatedServer, wire: Api) -> None:
    simulated.world.faults.push("error-event")
    with (
        provider(simulated, wire) as one,
        pytest.raises(ProviderFailure, match="Overloaded") as failed,
    ):
        one.summarize(NEED)
    assert failed.value.status in (500, 529)


@pytest.mark.parametrize("wire", WIRES)
def test_retry_after_is_told(simulated: SimulatedServer, wire: Api) -> None:
    simulated.world.faults.push("429:17")
    with provider(simulated, wire) as one, pytest.raises(ProviderFailure, match="retry after 17 s"):
        one.summarize(NEED)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("overflow", ContextWindowExceeded),
        ("403", ProviderFailure),
        ("cut", ProviderFailure),
        ("garbage", ProviderFailure),
    ],
)
def test_a_remote_compaction_that_fails(
    simulated: SimulatedServer, fault: str, kind: type[Failure]
) -> None:
    simulated.world.faults.push(fault)
    with provider(simulated, "responses") as one, pytest.raises(kind):
        one.remote_compact(COMPACT)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", ["stall", "hang", "drip"])
def test_time_is_total_time(simulated: SimulatedServer, wire: Api, fault: str) -> None:
    """A stream that stays alive and says nothing is over when the time is over."""
    simulated.world.faults.push(fault)
    with provider(simulated, wire) as one, pytest.raises(Timeout) as failed:
        one.summarize(Summarize("Summarise.", "text", timeout_s=0.4))
    assert failed.value.elapsed_ms >= 400


def test_a_remote_compaction_that_stalls(simulated: SimulatedServer) -> None:
    simulated.world.faults.push("stall")
    with provider(simulated, "responses") as one, pytest.raises(Timeout):
        one.remote_compact(RemoteCompact("", (user("u", "x"),), 0.3))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", ["stall", "hang", "drip"])
def test_cancel_ends_the_call_at_once(simulated: SimulatedServer, wire: Api, fault: str) -> None:
    """From another thread, while the server would go on for an hour."""
    simulated.world.faults.push(fault)
    stop = threading.Event()
    with provider(simulated, wire) as one:
        thread, raised = in_thread(lambda: one.summarize(NEED, stop.is_set))
        while not simulated.world.seen:
            thread.join(0.01)
        stop.set()
        thread.join(30)
        assert not thread.is_alive()
        assert [type(error) for error in raised] == [Cancelled]
        assert one.summarize(NEED).text


@pytest.mark.parametrize("wire", WIRES)
def test_closing_ends_the_call_too(simulated: SimulatedServer, wire: Api) -> None:
    simulated.world.faults.push("stall")
    with provider(simulated, wire) as one:
        thread, raised = in_thread(lambda: one.summarize(NEED))
        while not simulated.world.seen:
            thread.join(0.01)
        one.close()
        thread.join(30)
    assert [type(error) for error in raised] == [Cancelled]


@pytest.mark.parametrize("wire", WIRES)
def test_two_calls_at_a_time(simulated: SimulatedServer, wire: Api) -> None:
    simulated.world.faults.push("stall")
    with provider(simulated, wire) as one:
        stop = threading.Event()
        thread, raised = in_thread(lambda: one.summarize(NEED, stop.is_set))
        while not simulated.world.seen:
            thread.join(0.01)
        assert one.summarize(NEED).text
        stop.set()
        thread.join(30)
    assert len(raised) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_nobody_listens(simulated: SimulatedServer, wire: Api) -> None:
    dead = SimulatedServer()  # its port is taken but not served
    with provider(simulated, wire, url=dead.url) as one, pytest.raises(ProviderFailure) as failed:
        one.summarize(NEED)
    dead.close()
    assert failed.value.kind == "connection"


@pytest.mark.parametrize("wire", WIRES)
def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    simulated: SimulatedServer, wire: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with provider(simulated, wire) as one:
        assert one.summarize(NEED).text


@pytest.mark.parametrize("wire", WIRES)
def test_what_does_not_pair_up_is_refused(simulated: SimulatedServer, wire: Api) -> None:
    with provider(simulated, wire) as one, pytest.raises(ProviderFailure, match="call_1") as failed:
        one.ask(AskModel(asking(user("u", "x"), call("a", "call_1"), user("v", "y"))))
    assert failed.value.status == 400
