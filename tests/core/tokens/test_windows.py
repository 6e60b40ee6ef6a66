"""The window: where the number comes from, and what contradicts it."""

import pytest

from inspector.core.buffer import EMPTY_VIEW
from inspector.core.session import Compaction, CompactionKind, Request, Session, Thread
from inspector.core.tokens.catalogue import (
    BadModelTable,
    catalogue_window,
    client_window,
    read_windows,
    spellings,
)
from inspector.core.tokens.windows import Window, find_window, model_at
from inspector.core.usage import Usage
from inspector.transcripts.files import open_transcript
from tests.shared import transcripts

OPUS = "claude-opus-4-5-20251101"


def window(
    model: str = OPUS,
    *told: int,
    recorded: int | None = None,
    auto: int | None = None,
    user: int | None = None,
    models: dict[str, int] | None = None,
    kind: CompactionKind = "summary",
    client: str = "claude-code",
) -> Window:
    requests = tuple(
        Request(n, EMPTY_VIEW, usage=Usage(input=tokens), model=model, window=recorded)
        for n, tokens in enumerate(told or (1000,))
    )
    compactions = (Compaction(len(requests), "auto", kind, tokens_before=auto),) if auto else ()
    thread = Thread("main", model=model, requests=requests, compactions=compactions)
    return find_window(Session(client, (thread,)), thread, user=user, models=models)


def test_recorded() -> None:
    assert window("gpt-5.5", recorded=258400) == Window(258400, "recorded")
    (warning,) = window("gpt-5.5", 300000, recorded=258400).warnings
    assert "258,400" in warning
    assert "300,000" in warning


def test_catalogue() -> None:
    assert window() == Window(200000, "catalogue")
    assert window("gemini-2.5-pro") == Window(1048576, "catalogue")  # only in our own table


def _of(client: str, model: str, models: dict[str, int] | None = None) -> Window:
    """In a recording of several clients."""
    thread = Thread(
        "main", model=model, requests=(Request(0, EMPTY_VIEW, model=model),), client=client
    )
    return find_window(Session("proxy", (thread,)), thread, models=models)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-5.5", 258_400),
        ("gpt-5.2-codex", 258_400),
        ("gpt-6.1-terra", 475_000),
        ("a-model-of-ones-own", 258_400),
        ("gpt-5.3-codex-spark", 128_000),  # the model's own is smaller
    ],
)
def test_a_client_may_have_a_window_of_its_own(model: str, tokens: int) -> None:
    found = _of("codex", model)
    assert (found.tokens, found.source) == (tokens, "catalogue")
    assert "Codex" in found.basis
    assert _of("codex", model, {model: 77_000}) == Window(77_000, "catalogue")  # the user's word
    assert _of("pi", model).tokens == catalogue_window(model)


def test_codex_transcripts_record_what_the_table_says() -> None:
    """Every real one, whatever its model: the table is what its client went by."""
    found = 0
    for path in transcripts("**/*.jsonl"):
        if path.stat().st_size > 20_000_000 or b'"model_context_window"' not in path.read_bytes():
            continue
        session = open_transcript(path)
        for thread in session.threads if session.format == "codex" else ():
            for request in thread.requests:
                if request.window and request.model:
                    found += 1
                    known = client_window("codex", request.model)
                    assert known is not None
                    assert known[0] == request.window, (path, request.model)
    if not found:
        pytest.skip("no Codex transcripts on this machine")


def test_unknown_is_never_guessed() -> None:
    assert window("claude-fake", 150000) == Window(None, "unknown")
    assert window("", 150000) == Window(None, "unknown")


@pytest.mark.parametrize(("told", "auto"), [(559279, None), (1000, 998659), (200001, None)])
def test_more_than_the_catalogue_allows_is_a_larger_window(told: int, auto: int | None) -> None:
    found = window(OPUS, told, auto=auto)
    assert found.source == "inferred"
    assert found.tokens == 1000000
    assert "200,000" in found.warnings[0]


def test_clearing_results_does_not_tell_of_the_window() -> None:
    assert window(OPUS, 60000, auto=60000).warnings
    assert window(OPUS, 60000, auto=60000, kind="micro") == Window(200000, "catalogue")


def test_an_automatic_compaction_long_before_the_catalogue_is_a_smaller_window() -> None:
    found = window("claude-opus-4-6", 165000, auto=167500)
    assert (found.tokens, found.source) == (200000, "inferred")
    assert "1,000,000" in found.warnings[0]
    assert "167,500" in found.warnings[0]


def test_an_automatic_compaction_tells_the_window_of_an_unknown_model() -> None:
    assert window("claude-fake", 160000, auto=167500).tokens == 200000


@pytest.mark.parametrize(
    ("largest", "auto"), [(15_000, 15_000), (300_000, None)], ids=["compacted early", "larger"]
)
def test_what_the_clients_list_says_when_the_session_contradicts_it_stands_with_a_warning(
    largest: int, auto: int | None
) -> None:
    """A recording of Codex shows the window that its transcript records."""
    found = window("gpt-5.5", largest, auto=auto, client="codex")
    assert (found.tokens, found.source) == (258_400, "catalogue")
    assert f"{auto or largest:,}" in found.warnings[0]


def test_what_the_users_table_says_when_the_session_contradicts_it_stands_with_a_warning() -> None:
    found = window("claude-opus-4-6", 165_000, auto=167_500, models={"claude-opus-4-6": 1_000_000})
    assert (found.tokens, found.source) == (1_000_000, "catalogue")
    assert "167,500" in found.warnings[0]


def test_a_compaction_when_it_is_earlier_than_any_usual_window_is_no_window() -> None:
    found = window("gpt-5.5", 15_000, auto=15_000, client="proxy")
    assert (found.tokens, found.source) == (1_000_000, "catalogue")
    assert "15,000" in found.warnings[0]


def test_a_compaction_as_expected_says_nothing() -> None:
    assert window(OPUS, 150000, auto=155554) == Window(200000, "catalogue")
    assert window("claude-opus-5", 900000, auto=998659) == Window(1000000, "catalogue")


def test_a_compaction_too_early_for_any_window_is_told() -> None:
    found = window(OPUS, 30000, auto=31000)
    assert (found.tokens, found.source) == (200000, "catalogue")
    assert "31,000" in found.warnings[0]


def test_the_name_may_say_it() -> None:
    assert window("claude-sonnet-4-5[1m]") == Window(1000000, "inferred")


def test_beyond_all_that_is_known_the_catalogue_stands_and_is_contradicted() -> None:
    found = window(OPUS, 5_000_000)
    assert (found.tokens, found.source) == (200000, "catalogue")
    assert "5,000,000" in found.warnings[0]


def test_the_user_overrules_all_and_is_told() -> None:
    found = window("gpt-5.5", 120000, recorded=258400, user=100000)
    assert (found.tokens, found.source) == (100000, "user")
    assert len(found.warnings) == 2
    assert window(user=200000) == Window(200000, "user")


def test_the_users_table_goes_first() -> None:
    assert window(models={"claude-opus-4-5-20251101": 300000}) == Window(300000, "catalogue")
    assert (
        window(
            "my/own-model", models=dict(read_windows('[models."own-model"]\nwindow = 5000\n'))
        ).tokens
        == 5000
    )


def test_other_models_of_the_thread_are_no_evidence() -> None:
    requests = (
        Request(0, EMPTY_VIEW, usage=Usage(input=500000), model="claude-opus-5"),
        Request(1, EMPTY_VIEW, usage=Usage(input=1000), model=OPUS),
        Request(2, EMPTY_VIEW, usage=Usage(input=2000)),
    )
    thread = Thread("main", requests=requests)
    session = Session("claude-code", (thread,))
    assert find_window(session, thread, 0) == Window(1000000, "catalogue")
    assert find_window(session, thread, 1) == Window(200000, "catalogue")
    assert model_at(thread, None) == OPUS
    assert model_at(Thread("main", model="m"), None) == "m"


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("anthropic/claude-opus-4-5", 200000),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", 200000),
        ("claude-opus-4-5@20251101", 200000),
        ("Claude-Opus-4-5", 200000),
        ("openrouter/openai/gpt-5", 400000),
        ("claude-opus-99", None),
        ("gpt-5-something", None),
        ("opus", None),
        ("", None),
    ],
)
def test_names(name: str, tokens: int | None) -> None:
    assert catalogue_window(name) == tokens


def test_spellings_start_with_the_name_itself() -> None:
    assert list(spellings("A/b[1m]")) == ["a/b[1m]", "a/b", "b"]


@pytest.mark.parametrize(
    "text", ["models = 3 =", '[models."m"]\nwindow = "many"', "[models]\nm = 3", 'models = "m"']
)
def test_a_bad_table_is_told(text: str) -> None:
    with pytest.raises(BadModelTable, match="table of models"):
        read_windows(text)
