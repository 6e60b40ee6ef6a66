"""Where a recorded agent compacted by itself."""

import pytest

from inspector.core.buffer import Stretch
from inspector.core.findings.triggers import ObservedTrigger, observed_triggers, trigger_words
from inspector.core.session import Compaction, Request, Thread
from inspector.core.tokens.estimators import estimator
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
    return observed_triggers(of, known_pressures(of, estimator("roku")), window)


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
    assert found == (ObservedTrigger(2, 2_400, 0.24), ObservedTrigger(5, 5_000, 0.5))
    assert triggers(thread(Compaction(2, "auto")), None) == (ObservedTrigger(2, 2_000, None),)


def test_they_are_worked_out_once_a_thread() -> None:
    """A window asks at every step along a session, which may hold thousands."""
    one = thread(Compaction(2, "auto"))
    assert triggers(one, 10_000) is triggers(one, 10_000)
    assert triggers(one, 20_000)[0].ratio == 0.1
    other = thread(Compaction(2, "auto", tokens_before=2_500))
    assert [triggers(of, 10_000)[0].tokens for of in (one, other, one)] == [2_000, 2_500, 2_000]


@pytest.mark.parametrize(
    ("sizes", "window", "words"),
    [
        ((), 200_000, ""),
        ((155_144,), 200_000, "compacted at 155,144: 78% of the window"),
        ((156_611, 155_144), 200_000, "compacted at 155,144 and 156,611: 78% of the window"),
        ((176_700, 157_925), 200_000, "compacted at 157,925 and 176,700: 79 to 88% of the window"),
        ((3, 1, 2), None, "compacted at 1 to 3, 3 times"),
    ],
)
def test_words(sizes: tuple[int, ...], window: int | None, words: str) -> None:
    assert trigger_words([ObservedTrigger(0, size, size / window if window else None) for size in sizes]) == words


def test_the_short_form_has_the_share_alone() -> None:
    assert trigger_words([ObservedTrigger(0, 155_144, 0.776)], brief=True) == "compacted: 78% of the window"
    assert trigger_words([ObservedTrigger(0, 155_144, None)], brief=True) == ""
    assert trigger_words([], brief=True) == ""


def test_real_sessions_tell_their_line() -> None:
    paths = [*transcripts("claude-code/**/full.jsonl"), *transcripts("derived-merged/**/*.jsonl")]
    if not paths:
        pytest.skip("no real transcripts here")
    for path in paths:
        main = open_transcript(path).main
        automatic = [one for one in main.compactions if one.trigger == "auto" and one.kind == "summary"]
        found = triggers(main, 200_000)
        assert [one.before_request for one in found] == [one.before_request for one in automatic]
        assert all(one.ratio is not None and one.ratio > 0.75 for one in found)
