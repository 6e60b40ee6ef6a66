"""Every call of a provider, through the real SDKs, against the simulated server."""

import pytest

from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Message, Opaque, Text, Thinking
from inspector.core.needs import (
    Answer,
    AskModel,
    ContextWindowExceeded,
    ProviderFailure,
    RemoteCompact,
    Summarize,
)
from inspector.providers.answerers import Api
from inspector.simulated.server import SimulatedServer
from tests.providers.providing import (
    GREP,
    READ,
    WIRES,
    asking,
    bodies,
    call,
    provider,
    result,
    user,
)

HEADERS = ("Goal:", "Accomplished:", "Key Decisions:", "Relevant Files:")
SUMMARY = Summarize(
    f"Summarise in four sections: {' '.join(HEADERS)}",
    "User: fix the parser\nAssistant: done",
    timeout_s=30,
)


@pytest.mark.parametrize("wire", WIRES)
def test_a_summary(simulated: SimulatedServer, wire: Api) -> None:
    with provider(simulated, wire) as one:
        answer = one.summarize(SUMMARY)
    assert all(header in answer.text for header in HEADERS)
    assert answer.by == "simulated"
    assert answer.usage is not None
    assert answer.usage.prompt > 10
    assert answer.usage.output > 10
    assert answer.elapsed_ms > 0
    assert len(bodies(simulated)) == 1
    assert "tools" not in bodies(simulated)[0]


@pytest.mark.parametrize("wire", WIRES)
def test_a_summary_of_messages_and_text_sends_both(simulated: SimulatedServer, wire: Api) -> None:
    need = Summarize(
        "Be brief.",
        "Now summarise.",
        (user("u", "alpha beta"), call("a", "c1"), result("r", "c1", "x")),
    )
    with provider(simulated, wire) as one:
        one.summarize(need)
    sent = simulated.world.seen[-1].body.decode()
    assert sent.index("Be brief.") >= 0
    assert sent.index("alpha beta") < sent.index("Now summarise.")


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_with_tools_streams(simulated: SimulatedServer, wire: Api) -> None:
    heard: list[str] = []
    with provider(simulated, wire) as one:
        answer = one.ask(AskModel(asking(), 500), heard.append)
    (message,) = answer.messages
    (made,) = message.calls
    assert len(heard) > 1
    assert "".join(heard) == answer.text == message.text
    assert made.name == "Read"
    assert made.arguments == {"file_path": "src/parser.py"}
    assert message.role == "assistant"
    assert answer.usage is not None


@pytest.mark.parametrize("wire", WIRES)
def test_streamed_or_at_once_it_is_the_same(simulated: SimulatedServer, wire: Api) -> None:
    with provider(simulated, wire) as one:
        streamed = one.ask(AskModel(asking(), 500))
        simulated.world.forget()
        at_once = one.ask(AskModel(asking(), 500, stream=False))
    assert not bodies(simulated)[-1].get("stream")
    assert (at_once.messages, at_once.usage, at_once.finish) == (
        streamed.messages,
        streamed.usage,
        streamed.finish,
    )


@pytest.mark.parametrize("wire", WIRES)
def test_a_whole_run_pairs_up_and_ends(simulated: SimulatedServer, wire: Api) -> None:
    """Each call's result is sent back; the server checks the pairs as the real ones do."""
    messages: tuple[Message, ...] = (user("u", "Please fix the parser in src/parser.py"),)
    with provider(simulated, wire) as one:
        for turn in range(12):
            answer = one.ask(AskModel(asking(*messages), 500))
            messages += answer.messages
            calls = answer.messages[-1].calls
            if not calls:
                break
            messages += tuple(
                result(f"r{turn}", made.id, f"def parse(): return {turn}  # long enough")
                for made in calls
            )
    assert not messages[-1].calls
    assert 3 <= turn <= 8
    assert len({message.id for message in messages}) == len(messages)
    assert answer.finish in ("end_turn", "stop", "completed")


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_cut_at_its_limit_says_so(simulated: SimulatedServer, wire: Api) -> None:
    with provider(simulated, wire) as one:
        answer = one.summarize(Summarize("Summarise.", "word " * 400, max_tokens=16))
    assert answer.finish in ("max_tokens", "length")
    assert answer.usage is not None
    assert answer.usage.output <= 16


@pytest.mark.parametrize("wire", WIRES)
def test_a_blank_summary_is_an_answer_and_an_empty_turn_a_failure(
    simulated: SimulatedServer, wire: Api
) -> None:
    simulated.world.faults.push("empty*2")
    with provider(simulated, wire) as one:
        blank = one.summarize(SUMMARY)
        with pytest.raises(ProviderFailure) as failed:
            one.ask(AskModel(asking()))
    assert blank.text == ""
    assert blank.usage is not None  # paid for, all the same
    assert failed.value.kind == "empty"


def test_remote_compaction_keeps_the_opaque_item(simulated: SimulatedServer) -> None:
    need = RemoteCompact(
        "Keep all.", (user("u", "fix it"), call("a", "c1"), result("r", "c1", "text " * 50)), 90
    )
    with provider(simulated, "responses") as one:
        answer = one.remote_compact(need)
    (body,) = bodies(simulated)
    assert simulated.world.seen[-1].path == "/v1/responses/compact"
    assert body["prompt_cache_key"] == "session-1"
    assert body["instructions"] == "Keep all."
    *users, compaction = answer.messages
    assert [one.text for one in users] == ["fix it"]
    (part,) = compaction.parts
    assert compaction.summary
    assert isinstance(part, Opaque)
    assert part.size > 50
    assert answer.usage is not None


def test_the_opaque_item_goes_back_as_it_came(simulated: SimulatedServer) -> None:
    with provider(simulated, "responses") as one:
        compacted = one.remote_compact(RemoteCompact("", (user("u", "fix src/a.py"),), 90))
        answer = one.ask(AskModel(asking(*compacted.messages, user("v", "go on"), tools=())))
    part = compacted.messages[-1].parts[0]
    assert isinstance(part, Opaque)
    assert part.value in bodies(simulated)[-1]["input"]
    assert answer.text


@pytest.mark.parametrize("wire", ["anthropic", "chat"])
def test_who_cannot_compact_remotely_says_so(simulated: SimulatedServer, wire: Api) -> None:
    with (
        provider(simulated, wire) as one,
        pytest.raises(ProviderFailure, match="cannot compact") as failed,
    ):
        one.remote_compact(RemoteCompact("", (user("u", "x"),), 90))
    assert failed.value.kind == "missing"
    assert not simulated.world.seen


@pytest.mark.parametrize("wire", WIRES)
def test_what_nobody_else_can_read_stays_here(simulated: SimulatedServer, wire: Api) -> None:
    """Another provider's thinking and sealed items; a message that held nothing else is left out."""
    foreign = "redacted_thinking" if wire != "anthropic" else "compaction"
    messages = (
        user("u", "hello"),
        Message("t", "assistant", (Thinking("secret thought", "c2lnbmVk"), Text("hi"))),
        Message("o", "assistant", (Opaque(foreign, {"type": foreign, "data": "sealed-data"}, 4),)),
        user("v", "and now?"),
    )
    with provider(simulated, wire) as one:
        assert one.ask(AskModel(Buffer(messages, Prompt("", ())))).text
    sent = simulated.world.seen[-1].body.decode()
    assert "secret thought" not in sent
    assert "sealed-data" not in sent


@pytest.mark.parametrize("wire", WIRES)
def test_a_prompt_larger_than_the_window(simulated: SimulatedServer, wire: Api) -> None:
    simulated.world.window = 50
    with provider(simulated, wire) as one, pytest.raises(ContextWindowExceeded) as failed:
        one.summarize(Summarize("Summarise.", "word " * 200))
    assert failed.value.elapsed_ms > 0


@pytest.mark.parametrize("wire", WIRES)
def test_a_second_answer_never_takes_an_id_that_is_in_use(
    simulated: SimulatedServer, wire: Api
) -> None:
    with provider(simulated, wire) as one:
        first: Answer = one.ask(AskModel(asking(tools=())))
        taken = Message(
            first.messages[0].id, "user", (Text("Please fix the parser in src/parser.py"),)
        )
        second = one.ask(AskModel(asking(taken, tools=())))
    assert second.messages[0].id != taken.id


@pytest.mark.parametrize("wire", WIRES)
def test_tools_of_any_provider_are_offered_in_its_own_shape(
    simulated: SimulatedServer, wire: Api
) -> None:
    with provider(simulated, wire) as one:
        one.ask(AskModel(asking(tools=(READ, GREP))))
    (first, second) = bodies(simulated)[-1]["tools"]
    names = [one.get("name") or one["function"]["name"] for one in (first, second)]
    assert names == ["Read", "Grep"]
    match wire:
        case "anthropic":
            assert first["input_schema"]["required"] == ["file_path"]
        case "responses":
            assert (first["type"], first["parameters"]["required"]) == ("function", ["file_path"])
        case "chat":
            assert first["function"]["parameters"]["required"] == ["file_path"]
