"""How a run, a proxy and a receiver are described: a state in a few words, then what matters most."""

from dataclasses import replace
from pathlib import Path

import pytest

from inspector.agent.status import Breakpoints, RunStatus
from inspector.gui.live.status import PAUSING, describe_proxy, describe_receiver, describe_run
from inspector.proxy.holds.hold import Rule
from inspector.workbench.live import ProxyView, ReceiverView, RunView

PROXY = ProxyView("https://upstream", "/r/proxy.jsonl", Rule(), "http://127.0.0.1:1")
CALLING = RunStatus("calling", turn=3, tokens=1_000, kind="predicted", believed=500, window=4_000)


def test_run_when_the_model_answers_says_turn_size_and_the_own_count() -> None:
    status = describe_run(RunView(CALLING, Breakpoints()))
    assert (status.kind, status.state) == ("runs", "▶ the model answers")
    size = "turn 3 · 1,000 tokens predicted, 25.0% · the policy's own count 500: "
    assert status.sentence.startswith(size)


def test_run_when_a_pause_is_wanted_says_so_first_unless_it_asks() -> None:
    view = RunView(CALLING, Breakpoints(), pausing=True)
    assert describe_run(view).state == "‖ pausing"
    assert describe_run(view).sentence.startswith(f"{PAUSING} · turn 3 · ")
    asking = replace(view, now=replace(CALLING, state="asking"))
    assert describe_run(asking).state == "? asks you"


def test_run_when_it_failed_says_why_once_without_control_characters() -> None:
    ended = RunStatus("ended", why="no key\x1b[2J", end="error", turn=1, error="no key\x1b[2J")
    status = describe_run(RunView(ended, Breakpoints()))
    assert (status.kind, status.state) == ("bad", "✗ failed")
    assert status.sentence.startswith("1 turn · no key")
    assert status.sentence.count("no key") == 1
    assert "\x1b" not in status.sentence


@pytest.mark.parametrize(
    ("count", "state", "wait"),
    [
        (0, "● listening", "waits for the first request of a client"),
        (1, "▶ answering", "waits for 1 answer from the provider"),
        (2, "▶ answering", "waits for 2 answers from the provider"),
    ],
)
def test_proxy_when_answers_are_under_way_counts_them(count: int, state: str, wait: str) -> None:
    status = describe_proxy(replace(PROXY, under_way=frozenset(range(count))), False)
    assert (status.kind, status.state) == ("runs", state)
    assert status.sentence == f"http://127.0.0.1:1 to https://upstream · {wait}"


def test_proxy_when_the_disk_is_full_says_so_last() -> None:
    status = describe_proxy(replace(PROXY, trouble="No room."), True, "next tier L1")
    assert status.sentence.endswith(" · waits for the next request · next tier L1 · No room.")


@pytest.mark.parametrize(("spans", "words"), [(0, "0 spans"), (1, "1 span"), (6, "6 spans")])
def test_receiver_when_spans_came_counts_them(spans: int, words: str) -> None:
    view = ReceiverView(str(Path("/r/spans.jsonl")), "http://127.0.0.1:4318", spans)
    sentence = f"http://127.0.0.1:4318 · {words} received, recorded in spans.jsonl"
    assert describe_receiver(view).sentence == sentence
