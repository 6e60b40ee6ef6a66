"""`lost --judge` through a proxy that holds: the price before, one question, words of the summary as evidence."""

import pytest

from inspector.cli.main import main
from inspector.core.jsontext import loads
from inspector.proxy.holds.holds import Holds
from inspector.proxy.relay.server import ProxyServer
from inspector.resources import resource
from inspector.simulated.server import SimulatedServer
from tests.proxy.holding import Later, until


def test_judge_when_its_question_is_held_has_said_the_price_and_takes_only_words_of_the_summary(
    gate: Holds, proxy: ProxyServer, simulated: SimulatedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    who, model = f"anthropic+{proxy.url}", "claude-opus-4-5"
    sample = str(resource("sample.jsonl"))
    call = Later(lambda: main(["lost", sample, "--json", "--judge", who, "--model", model]))
    (hold,) = until(gate.list, 100)  # the losses are found first
    price = capsys.readouterr().err
    assert not simulated.world.seen
    gate.release(hold.id)
    assert call.result() == 0
    document = capsys.readouterr().out
    (after,) = loads(document.encode())["compactions"]
    (seen,) = simulated.world.seen
    (part,) = loads(seen.body)["messages"][0]["content"]
    request = " ".join(part["text"].split())
    judged = {
        row["text"]: (row["verdict"], row["nearest"])
        for row in after["lost"]
        if row["why"] == "Judged by a model."
    }
    assert {verdict for verdict, _ in judged.values()} >= {"carried", "unsure"}
    for text, (verdict, evidence) in judged.items():
        assert " ".join(text.split()) in request
        assert verdict != "carried" or " ".join(evidence.split()) in request
    assert f"asking {model} about {len(judged)} rows: about " in price
    assert ", at most $0." in price
