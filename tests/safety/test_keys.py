"""Keys: where they come from, and that they show up nowhere else."""

import io
import logging
import traceback
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

from inspector.core.errors import InspectorError
from inspector.core.needs import AskModel, Failure, Summarize
from inspector.providers.answerers import Api, answerer
from inspector.safety.keys import (
    URL_KEY,
    ApiKey,
    KeyMissing,
    NoKeyring,
    find_key,
    forget_key,
    key_place,
    save_key,
)
from inspector.simulated.server import SimulatedServer
from tests.providers.providing import SECRET, WIRES, asking, provider


class Memory(KeyringBackend):
    """A keyring that forgets when the test ends."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError(username)


class Locked(Memory):
    """A keyring that nobody opens; its error repeats what it was given."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("locked")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked(f"cannot store {password}")


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Memory:
    memory = Memory()
    monkeypatch.setattr(keyring, "get_keyring", lambda: memory)
    return memory


def test_the_environment_comes_first(ring: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    save_key("openai", "from-keyring")
    assert (find_key("openai").reveal(), key_place("openai")) == ("from-keyring", "keyring")
    monkeypatch.setenv("OPENAI_API_KEY", " from-environment\n")
    assert (find_key("openai").reveal(), key_place("openai")) == ("from-environment", "environment")


def test_a_key_is_saved_and_forgotten(ring: Memory) -> None:
    assert key_place("anthropic") == ""
    save_key("anthropic", f"  {SECRET} ")
    assert key_place("anthropic") == "keyring"
    assert list(ring.kept) == [("context-inspector", "anthropic")]
    assert find_key("anthropic").reveal() == SECRET
    forget_key("anthropic")
    forget_key("anthropic")
    assert key_place("anthropic") == ""
    with pytest.raises(KeyMissing, match="ANTHROPIC_API_KEY"):
        find_key("anthropic")


@pytest.mark.parametrize("text", ["", "  ", "two words", "schlüssel", "line\nline", "tab\t."])
def test_what_is_no_key_is_not_stored(ring: Memory, text: str) -> None:
    with pytest.raises(InspectorError) as failed:
        save_key("openai", text)
    assert not ring.kept
    assert not text.strip() or text.strip() not in str(failed.value)


def test_a_machine_without_a_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "get_keyring", NoBackend)
    assert key_place("openai") == ""
    with pytest.raises(KeyMissing, match=r"OPENAI_API_KEY.*no keyring"):
        find_key("openai")
    with pytest.raises(NoKeyring, match="no keyring"):
        save_key("openai", SECRET)
    with pytest.raises(NoKeyring):
        forget_key("openai")


def test_this_very_machine_neither_crashes_nor_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever keyring there is here: nobody is prompted, the answer is a value."""

    def asked(*_: object) -> str:
        raise AssertionError("somebody was asked")

    monkeypatch.setattr("getpass.getpass", asked)
    monkeypatch.setattr("builtins.input", asked)
    assert key_place("openai") in ("", "keyring")


def test_a_file_is_no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backends that write plain files, or ask for a password on the terminal, are not used."""
    plain = type("PlaintextKeyring", (Memory,), {"__module__": "keyrings.alt.file"})()
    monkeypatch.setattr(keyring, "get_keyring", lambda: plain)
    with pytest.raises(NoKeyring):
        save_key("openai", SECRET)
    assert not plain.kept


def test_a_locked_keyring_does_not_repeat_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "get_keyring", Locked)
    assert key_place("openai") == ""
    with pytest.raises(NoKeyring, match="KeyringLocked") as failed:
        save_key("openai", SECRET)
    assert SECRET not in _everything(failed.value)


def test_a_key_shows_nothing_of_itself() -> None:
    key = ApiKey(SECRET)
    assert SECRET not in f"{key} {key!r} {[key]} {vars(type(key))}"
    assert (
        key.redact(
            f"a {SECRET} b {SECRET.replace('/', '%2F').replace('+', '%2B').replace('=', '%3D')}"
        )
        == "a [key] b [key]"
    )


def _everything(error: BaseException) -> str:
    """All that an error report could hold of an error."""
    text = io.StringIO()
    traceback.print_exception(error, file=text, chain=True)
    return f"{text.getvalue()} {error!r} {error.args} {vars(error)}"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "fault", ["no-key", "500", "cut", "error-event", "garbage", "stall", "overflow"]
)
def test_a_key_is_in_no_log_no_error_no_file(
    simulated: SimulatedServer,
    wire: Api,
    fault: str,
    home: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With every log at its loudest, and a server that repeats the key in its error."""
    monkeypatch.setenv("OPENAI_LOG", "debug")
    monkeypatch.setenv("ANTHROPIC_LOG", "debug")
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "anthropic", "httpx2", "httpcore2", "httpcore", "asyncio"):
        caplog.set_level(logging.DEBUG, name)
    with provider(simulated, wire) as one:
        one.summarize(Summarize("Summarise.", "x"))
        simulated.world.faults.push(fault)
        with pytest.raises(Failure) as failed:
            one.summarize(Summarize("Summarise.", "x", timeout_s=0.5 if fault == "stall" else 30))
        one.ask(AskModel(asking()))
        shown = f"{one!r} {vars(one)}"
    out, err = capfd.readouterr()
    written = "".join(
        path.read_text("utf-8", "replace") for path in home.rglob("*") if path.is_file()
    )
    for place in (caplog.text, _everything(failed.value), out, err, written, shown):
        assert SECRET not in place
    if fault == "no-key":
        assert "[key]" in str(failed.value)


@pytest.mark.parametrize("wire", WIRES)
def test_the_key_is_what_is_sent(
    simulated: SimulatedServer, wire: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one from the environment: the server repeats what it was given."""
    monkeypatch.setenv("OPENAI_API_KEY", "other-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "other-key")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "other-token")
    simulated.world.faults.push("no-key")
    with provider(simulated, wire) as one, pytest.raises(Failure, match=r"provided: \[key\]"):
        one.summarize(Summarize("Summarise.", "x"))


@pytest.mark.parametrize("wire", WIRES)
def test_a_url_never_gets_the_key_of_a_provider(
    simulated: SimulatedServer, wire: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "openais-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "anthropics-key")
    told: list[Any] = []
    for own in ("", "own-key"):
        monkeypatch.setenv(URL_KEY, own)
        simulated.world.faults.push("no-key")
        with answerer(f"{wire}+{simulated.url}", "m") as answer, pytest.raises(Failure) as failed:
            answer(Summarize("Summarise.", "x"))
        told.append(str(failed.value))
    assert "openais-key" not in told[0]
    assert "anthropics-key" not in told[0]
    assert "provided: [key]" in told[1]
