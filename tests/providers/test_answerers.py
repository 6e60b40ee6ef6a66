"""Who answers, by name."""

import threading
from collections.abc import Callable

import pytest

from inspector.core.buffer import Prompt
from inspector.core.errors import Cancelled, InspectorError
from inspector.core.message import Opaque
from inspector.core.needs import AskModel, RemoteCompact, Summarize
from inspector.providers.answerers import answerer
from inspector.safety.keys import KeyMissing
from inspector.simulated.server import SimulatedServer
from tests.providers.providing import READ, asking, in_thread, user

NEED = Summarize("Summarise.", "User: fix the parser", timeout_s=30)


@pytest.fixture(autouse=True)
def _no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    from keyring.backends.fail import Keyring

    monkeypatch.setattr("keyring.get_keyring", Keyring)


def test_offline_opens_nothing() -> None:
    with answerer("offline") as answer:
        assert answer(NEED).by == "offline"


@pytest.mark.parametrize(
    "who", ["simulated", "simulated:anthropic", "simulated:openai", "simulated:chat"]
)
def test_simulated_starts_its_own_server_and_ends_it(who: str) -> None:
    before = set(threading.enumerate())
    with answerer(who, prompt=Prompt("", (READ,))) as answer:
        assert answer(NEED).by == "simulated"
        assert answer(AskModel(asking())).messages[0].calls
        compacted = answer(RemoteCompact("", (user("u", "x"),), 30))  # whoever speaks: this one can
        assert isinstance(compacted.messages[-1].parts[0], Opaque)
    assert not set(threading.enumerate()) - before


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
@pytest.mark.parametrize("scheme", ["", "chat+", "responses+", "anthropic+"])
def test_a_url_with_or_without_its_version(
    simulated: SimulatedServer, scheme: str, path: str
) -> None:
    with answerer(f"{scheme}{simulated.url}{path}", "m") as answer:
        reply = answer(NEED)
    assert reply.text
    assert reply.by == simulated.url.removeprefix("http://")


@pytest.mark.parametrize(
    ("who", "model", "told"),
    [
        ("nobody", "m", "Unknown answerer 'nobody'"),
        ("simulated:klingon", "", "simulated speaks"),
        ("ftp://127.0.0.1", "m", "Unknown answerer"),
        ("http://", "m", "Unknown answerer"),
        ("http://:80", "m", "not a URL"),
        ("http://127.0.0.1:99999", "m", "not a URL"),
        ("http://user:secret@127.0.0.1:1", "m", "not into the URL"),
        ("http://secret@127.0.0.1:99999", "m", "not into the URL"),
        ("http://@127.0.0.1:1", "m", "not into the URL"),
        ("http://127.0.0.1:1/v1?key=secret", "m", "not into the URL"),
        ("anthropic+http://127.0.0.1:1?", "m", "not into the URL"),
        ("responses+http://127.0.0.1:1/v1#secret", "m", "not into the URL"),
        ("http://127.0.0.1:1", "", "--model"),
    ],
)
def test_what_cannot_be_asked_is_told_in_a_sentence(who: str, model: str, told: str) -> None:
    with pytest.raises(InspectorError, match=told) as failed:
        answerer(who, model)
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize("who", ["anthropic", "openai", "openai:chat"])
def test_without_a_key(who: str) -> None:
    with pytest.raises(KeyMissing, match="_API_KEY"):
        answerer(who, "m")


@pytest.mark.parametrize(
    ("who", "model"), [("openai", "claude-opus-4-5"), ("anthropic", "gpt-5.1"), ("anthropic", "o3")]
)
def test_a_sessions_model_is_not_everybodys(
    who: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with pytest.raises(InspectorError, match="--model"):
        answerer(who, model)
    with pytest.raises(InspectorError, match="--model"):
        answerer(who, "")


@pytest.mark.parametrize(
    ("who", "variable", "suffix"),
    [
        ("anthropic", "ANTHROPIC_BASE_URL", ""),
        ("openai", "OPENAI_BASE_URL", "/v1"),
        ("openai:chat", "OPENAI_BASE_URL", "/v1"),
    ],
)
def test_a_gateway_of_the_environment_is_used(
    simulated: SimulatedServer,
    who: str,
    variable: str,
    suffix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv(variable, simulated.url + suffix)
    with answerer(who, "some-model") as answer:
        assert answer(NEED).by == who.partition(":")[0]


@pytest.mark.parametrize(
    "stop", [lambda answer: answer.cancel(), lambda answer: answer.close()], ids=["cancel", "close"]
)
def test_it_can_be_stopped_from_another_thread(
    simulated: SimulatedServer, stop: Callable[[object], None]
) -> None:
    simulated.world.faults.push("stall")
    with answerer(simulated.url, "m") as answer:
        thread, raised = in_thread(lambda: answer(NEED))
        while not simulated.world.seen:
            thread.join(0.01)
        stop(answer)
        thread.join(30)
        assert [type(error) for error in raised] == [Cancelled]
        assert answer(NEED).text
