"""Where a recorded agent compacted by itself."""

import pytest

from inspector.core.buffer import Stretch
from inspector.core.findings.triggers import (
    ClientTrigger,
    ObservedTrigger,
    client_trigger,
    observed_triggers,
)
from inspector.core.policies.catalogue import POLICIES
from inspector.core.session import Compaction, Request, Session, Thread
from inspector.core.tokens.pressure import known_pressures
from inspector.core.usage import Usage
from inspector.transcripts.files import open_transcript
from tests.shared import transcripts


def thread(*compactions: Compaction) -> Thread:
    """Ten requests of 1,000, 2,000 ... reported tokens."""
    view = Stretch().view()
    requests = tuple(Request(n, view, usage=Usage(1_000 * (n + 1))) for n in range(10))
    return Thread("main", requests=requests, compactions=compactions)


def triggers(of: Thread, window: int | None) -> tuple[ObservedTrigger, ...]:
    return observed_triggers(of, known_pressures(of), window)


def test_only_what_the_agent_did_by_itself_and_only_summaries() -> None:
    found = triggers(
        thread(
            Compaction(2, "auto", tokens_before=2_400),
            Compaction(3, "manual", tokens_before=3_400),
            Compaction(4, "auto", "micro", tokens_before=4_400),
            Compaction(5, ""),
            Compaction(0, "auto"),
        ),
        10_000,
    )
    assert found == (ObservedTrigger(2, 2_400, 0.24), ObservedTrigger(5, 6_000, 0.6))
    assert triggers(thread(Compaction(2, "auto")), None) == (ObservedTrigger(2, 3_000, None),)


def test_they_are_worked_out_once_a_thread() -> None:
    """A window asks at every step along a session, which may hold thousands."""
    one = thread(Compaction(2, "auto"))
    assert triggers(one, 10_000) is triggers(one, 10_000)
    assert triggers(one, 20_000)[0].ratio == 0.15
    other = thread(Compaction(2, "auto", tokens_before=2_500))
    assert [triggers(of, 10_000)[0].tokens for of in (one, other, one)] == [3_000, 2_500, 3_000]


@pytest.mark.parametrize(
    ("sizes", "window", "words", "label"),
    [
        ((153_212,), 200_000, "Claude Code compacts at 76.6%, observed once", "Claude Code 76.6%"),
        (
            (154_900, 155_500),
            200_000,
            "Claude Code compacts at 77.6%, observed twice",
            "Claude Code 77.6%",
        ),
        (
            (157_000, 176_700),
            200_000,
            "Claude Code compacts at 78.5% to 88.3%, observed twice",
            "Claude Code 78–88%",
        ),
        (
            (9_100, 9_200, 9_300),
            None,
            "Claude Code compacts at 9,100 to 9,300, observed 3 times",
            None,
        ),
    ],
)
def test_client_trigger_words_name_client_share_and_observations(
    sizes: tuple[int, ...], window: int | None, words: str, label: str | None
) -> None:
    trigger = ClientTrigger("Claude Code", sizes, window, observed=True, version="2.1.62")
    assert trigger.words == words
    assert label in (None, trigger.label)


def opened(
    main: Thread, client: str, kind: str = "claude-code", window: int | None = 200_000
) -> ClientTrigger | None:
    session = Session(kind, (main,), client=client)
    return client_trigger(session, main, known_pressures(main), window)


def test_client_trigger_when_observed_goes_before_the_rules_of_its_version() -> None:
    found = opened(thread(Compaction(5, "auto", tokens_before=153_212)), "Claude Code 2.1.62")
    assert found is not None
    assert (found.client, found.version, found.tokens, found.observed) == (
        "Claude Code",
        "2.1.62",
        (153_212,),
        True,
    )


@pytest.mark.parametrize(
    ("client", "kind", "harness"),
    [("Claude Code 2.1.62", "claude-code", "claude-code"), ("Codex 0.140.0", "codex", "codex")],
)
def test_client_trigger_when_none_was_observed_follows_the_rules_of_its_version(
    client: str, kind: str, harness: str
) -> None:
    found = opened(thread(), client, kind)
    by = POLICIES[harness]
    lines = by.watermarks(by.settings(by.of_client(client), 200_000))
    assert found is not None
    assert (found.tokens, found.observed) == ((lines[-1].tokens,), False)
    assert found.words.endswith(f"rules of {client.rsplit(maxsplit=1)[-1]}")


def test_client_trigger_of_a_client_without_known_rules_is_none() -> None:
    assert opened(thread(), "", "anthropic") is None
    assert opened(thread(), "Claude Code 2.1.62", window=None) is None


def test_client_trigger_of_an_unknown_client_that_compacted_is_named_the_client() -> None:
    found = opened(
        thread(Compaction(5, "auto", tokens_before=5_000)), "", "anthropic", window=10_000
    )
    assert found is not None
    assert found.words == "The client compacts at 50.0%, observed once"


def test_client_trigger_of_a_session_of_several_versions_names_none() -> None:
    found = opened(
        thread(Compaction(5, "auto", tokens_before=5_000)),
        "Claude Code 2.1.36 to 2.1.37",
        window=10_000,
    )
    assert found is not None
    assert (found.client, found.version) == ("Claude Code", "")


def test_real_sessions_tell_their_line() -> None:
    paths = [*transcripts("claude-code/**/full.jsonl"), *transcripts("derived-merged/**/*.jsonl")]
    if not paths:
        pytest.skip("no real transcripts here")
    for path in paths:
        main = open_transcript(path).main
        automatic = [
            one for one in main.compactions if one.trigger == "auto" and one.kind == "summary"
        ]
        found = triggers(main, 200_000)
        assert [one.before_request for one in found] == [one.before_request for one in automatic]
        assert all(one.ratio is not None and one.ratio > 0.75 for one in found)
