"""Why a cache broke: a session by hand for every cause, and what it cost."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from inspector.core.buffer import Prompt, Stretch, Tool
from inspector.core.dialects.anthropic_usage import read_anthropic_usage
from inspector.core.findings.answers import describe_cost
from inspector.core.findings.breaks import Rebilling, cache_breaks, last_written_ttl
from inspector.core.findings.spending import (
    session_cost,
    subtotal_words,
    sum_bills,
    thread_bills,
    what_ifs,
)
from inspector.core.message import Message, Role, Text
from inspector.core.session import Compaction, Request, Session, Sign, Thread
from inspector.core.tokens.prices import Bill, billed
from inspector.core.usage import FIVE_MINUTES_S, HOUR_S, Usage
from tests.core.policies.build import assistant, user
from tests.core.sessions import MODEL, thread_cost

WRITE, WRITE_1H, READ = Decimal("0.00000625"), Decimal("0.00001"), Decimal("0.0000005")


def used(read: int, written: int, *, hourly: bool = False) -> Usage:
    return Usage(2, read, written, 100, cache_write_1h=written if hourly else 0)


def session(
    *usages: Usage, minutes: tuple[float, ...] = (), model: str = MODEL, hourly: bool = False
) -> Thread:
    """A call a minute, each buffer two messages longer."""
    stretch, requests = Stretch(), list[Request]()
    for n, usage in enumerate(usages):
        stretch.append(user(f"question {n} " * 40))
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes[n] if minutes else n)
        time = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
        usage = replace(usage, cache_write_1h=usage.cache_write) if hourly else usage
        requests.append(
            Request(n, stretch.view(), usage=usage, model=model, time=time, line=10 * n + 5)
        )
        stretch.append(assistant(f"answer {n} " * 40))
    return Thread("main", model=model, requests=requests, end=stretch.view(), messages=stretch.own)


def broken(thread: Thread, *signs: Sign) -> Rebilling:
    (found,) = cache_breaks(thread, Session("made", (thread,), signs=signs))
    return found


GREW = (used(10_000, 40_000), used(50_002, 1_000), used(51_004, 1_000))
LOST = used(0, 53_000)


def test_a_cache_that_is_read_never_breaks_and_small_misses_are_none() -> None:
    assert not cache_breaks(session(*GREW), Session("made"))
    assert not cache_breaks(session(*GREW, used(47_000, 6_000)), Session("made"))
    small = session(used(0, 20_000), used(15_500, 5_500))
    assert not cache_breaks(small, Session("made"))
    assert not cache_breaks(session(Usage(50_000), Usage(51_000)), Session("made"))
    never_written = Usage(10_600, 49_000, 400), Usage(2, 49_400, 11_000)
    assert not cache_breaks(session(*GREW, *never_written), Session("made"))


def test_what_was_billed_again_and_what_of_it_could_be_saved() -> None:
    found = broken(session(*GREW, used(12_000, 41_000), minutes=(0, 1, 2, 20)))
    assert (found.request, found.tokens, found.missed) == (3, 52_004 - 12_000, 52_004 - 12_000)
    price = (41_000 * WRITE + 2 * Decimal("0.000005")) / 41_002
    assert found.usd == pytest.approx(40_004 * price)
    assert found.usd is not None
    assert found.avoidable_usd == pytest.approx(found.usd - 40_004 * READ)
    assert broken(session(*GREW, LOST, minutes=(0, 1, 2, 20), model="nobody's")).usd is None


@pytest.mark.parametrize(
    ("pause", "hourly", "cause", "words"),
    [
        (
            6.5,
            False,
            "expired",
            "6 min 30 s since the previous request; its entries expire after 5 minutes.",
        ),
        (59, True, "prefix-changed", "although 59 min had passed and no recorded message changed"),
        (
            61,
            True,
            "expired",
            "1 h 1 min since the previous request; its entries expire after 1 hour.",
        ),
        (300, True, "expired", "5 h since the previous request"),
    ],
)
def test_expired_by_the_life_that_was_written(
    pause: float, hourly: bool, cause: str, words: str
) -> None:
    head = used(0, 50_000)
    calls = (head, used(50_002, 1_000), used(51_004, 1_000))
    found = broken(session(*calls, LOST, minutes=(0, 1, 2, 2 + pause), hourly=hourly))
    assert found.cause == cause
    assert words in found.evidence


def test_lifetime_when_the_client_changed_it_is_that_of_the_last_write() -> None:
    mixed = session(used(0, 40_000, hourly=True), used(40_000, 9_000), used(49_000, 0))
    assert last_written_ttl(mixed, 0) == HOUR_S
    assert last_written_ttl(mixed, 1) == FIVE_MINUTES_S
    assert last_written_ttl(mixed, 2) == FIVE_MINUTES_S


def test_five_minute_writes_when_other_sessions_keep_the_head_bill_only_the_rest_again() -> None:
    first, second = used(15_000, 40_000, hourly=True), used(55_002, 1_000, hourly=True)
    thread = session(first, second, minutes=(0, 20))
    (_, in_minutes) = what_ifs((thread,), sum_bills(thread_bills(thread)) or Bill())
    again = 55_002 - 15_000
    dearer = again * (WRITE - READ) - (40_000 + 1_000) * (WRITE_1H - WRITE)
    assert in_minutes.saved_usd == pytest.approx(-dearer)


def test_advisor_when_named_in_an_iteration_is_billed_at_its_own_model() -> None:
    usage = read_anthropic_usage(
        {
            "input_tokens": 100,
            "output_tokens": 10,
            "iterations": [
                {"type": "message", "input_tokens": 100, "output_tokens": 10},
                {
                    "type": "advisor_message",
                    "model": "claude-opus-4-5",
                    "input_tokens": 1_000,
                    "output_tokens": 200,
                },
            ],
        }
    )
    assert usage is not None
    assert (usage.input, usage.output, usage.prompt) == (1_100, 210, 100)
    haiku, opus = (
        billed("claude-haiku-4-5", Usage(100, output=10)),
        billed("claude-opus-4-5", Usage(1_000, output=200)),
    )
    assert haiku is not None
    assert opus is not None
    assert billed("claude-haiku-4-5", usage) == haiku + opus


def test_cost_when_one_model_has_no_price_is_at_least_the_rest() -> None:
    priced, other = session(*GREW), session(*GREW, model="unheard-of")
    both = Session("made", (priced, replace(other, id="second")))
    known = session_cost(both).subtotal
    assert (known.usd, known.unpriced) == (thread_cost(priced), 3)
    assert subtotal_words(known.usd, known.unpriced).endswith(", 3 requests without a price")
    assert subtotal_words(Decimal(0), 1) == "unknown: 1 request without a price"
    assert subtotal_words(Decimal(2), 0, output_is_final=False) == "at least $2.00"
    assert list(session_cost(both).by_model) == [MODEL, "unheard-of"]


def test_a_recorded_compaction_and_a_silent_one() -> None:
    thread = session(*GREW, used(9_000, 12_000))
    told = replace(thread, compactions=(Compaction(3, "auto"),))
    found = broken(told)
    assert (found.cause, found.tokens, found.missed) == ("compaction", 12_002, 43_004)
    assert "recorded auto compaction" in found.evidence
    assert not found.inferred
    silent = broken(thread)
    assert silent.cause == "compaction"
    assert "The provider counted 52,006 tokens, then 21,002" in silent.evidence
    assert silent.inferred


def test_a_compaction_before_a_call_that_reported_nothing() -> None:
    thread = session(*GREW, used(9_000, 12_000), used(9_000, 13_000))
    requests = [*thread.requests[:3], replace(thread.requests[3], usage=None), thread.requests[4]]
    found = broken(replace(thread, requests=requests, compactions=(Compaction(3, "auto"),)))
    assert (found.request, found.cause, found.inferred) == (4, "compaction", False)


@pytest.mark.parametrize(
    ("read", "cause"), [(0, "expired"), (9_000, "expired"), (30_000, "compaction")]
)
def test_what_had_expired_was_not_lost_by_a_compaction_that_nobody_announced(
    read: int, cause: str
) -> None:
    thread = session(*GREW, used(read, 38_000 - read), minutes=(0, 1, 2, 20))
    assert broken(thread).cause == cause
    assert broken(replace(thread, compactions=(Compaction(3, "auto"),))).cause == "compaction"


def test_another_model() -> None:
    thread = session(*GREW, LOST)
    requests = [*thread.requests[:3], replace(thread.requests[3], model="claude-sonnet-4-5")]
    found = broken(replace(thread, requests=requests))
    assert found.cause == "model-changed"
    assert f"from {MODEL} to claude-sonnet-4-5" in found.evidence


def test_other_tools_and_another_system_prompt_where_the_file_holds_them() -> None:
    thread = session(*GREW, LOST)
    one, two = (
        Prompt("Be brief.", (Tool("Read", {}),)),
        Prompt("Be brief.", (Tool("Read", {}), Tool("Grep", {}))),
    )

    def with_prompts(last: Prompt) -> Thread:
        before = [replace(request, prompt=one) for request in thread.requests[:3]]
        return replace(thread, requests=[*before, replace(thread.requests[3], prompt=last)])

    found = broken(with_prompts(two))
    assert (found.cause, found.evidence) == (
        "tools-changed",
        "The tool definitions changed: added Grep.",
    )
    other = broken(with_prompts(Prompt("Be long.", one.tools)))
    assert (other.cause, other.diff) == ("tools-changed", ("- Be brief.", "+ Be long."))


def test_a_message_that_reads_otherwise_is_named_and_shown() -> None:
    thread = session(*GREW, LOST)
    messages = list(thread.requests[3].view.messages())
    messages[2] = Message(messages[2].id, "user", (Text("question 1, put otherwise"),))
    view = Stretch(None, messages).view()
    found = broken(
        replace(thread, requests=[*thread.requests[:3], replace(thread.requests[3], view=view)])
    )
    assert (found.cause, found.message, found.place) == ("prefix-changed", messages[2].id, 2)
    assert "differs from message 2 of 5 on" in found.evidence
    assert found.diff[-1] == "+ question 1, put otherwise"
    assert found.diff[0].startswith("- question 1 question 1")


@pytest.mark.parametrize(
    ("read", "cause", "words"),
    [
        (29_900, "prefix-changed", "differs from message 4 of"),
        (2_400, "unknown", "27,600 tokens before that message were not"),
    ],
)
def test_a_message_that_reads_otherwise_explains_what_stands_after_it(
    read: int, cause: str, words: str
) -> None:
    calls = (24_100, 2_400), (30_000, 24_000), (40_000, 29_900), (40_500, read)
    thread = session(*(Usage(sent - got, got, output=5) for sent, got in calls), model="gpt-5")
    *before, last = thread.requests
    messages = list(last.view.messages())
    messages[4] = Message(messages[4].id, "user", (Text("question 2, put otherwise"),))
    found = broken(
        replace(thread, requests=[*before, replace(last, view=Stretch(None, messages).view())])
    )
    assert found.cause == cause
    assert words in found.evidence


@pytest.mark.parametrize(("kind", "cause"), [("restart", "restart"), ("tools", "tools-changed")])
def test_what_the_file_tells_beside_the_messages(kind: str, cause: str) -> None:
    sign = Sign(kind, "version 1 became 2", 30)  # type: ignore[arg-type]
    found = broken(
        session(*GREW, LOST),
        sign,
        replace(sign, line=7),
        replace(sign, thread="other", what="not ours"),
    )
    assert found.cause == cause
    assert found.evidence.startswith(
        "Version 1 became 2 (line 30). Nothing was read from the cache"
    )


def test_the_place_at_which_a_provider_stopped_reading_tells_what_changed() -> None:
    head = broken(session(*GREW, used(10_100, 43_000)))
    assert (head.cause, head.place) == ("prefix-changed", 0)
    assert "as many as the first request read (10,000)" in head.evidence
    assert head.inferred
    middle = broken(session(*GREW, used(51_000, 8_000), used(50_900, 9_000)))
    assert (middle.cause, middle.place) == ("prefix-changed", 3)
    assert "up to the end of request 1" in middle.evidence
    settings = broken(session(*GREW, LOST), Sign("settings", "mode default became plan", 30))
    assert "Mode default became plan (line 30)." in settings.evidence


def test_a_cache_that_the_provider_keeps_by_itself_may_lose_anything() -> None:
    calls = (
        Usage(10_000, 40_000, output=5),
        Usage(1_000, 50_000, output=5),
        Usage(40_000, 12_000, output=5),
    )
    found = broken(session(*calls, model="gpt-5"))
    assert found.cause == "unknown"
    assert "does not promise" in found.evidence
    idle = broken(session(*calls, minutes=(0, 1, 8), model="gpt-5"))
    assert (idle.cause, "7 min since" in idle.evidence, idle.inferred) == ("expired", True, True)


@pytest.mark.parametrize(
    ("model", "minutes", "cause", "words"),
    [
        ("gpt-5.4", 8, "expired", "is usually kept for 5 to 10 minutes"),
        ("gpt-5.5", 8, "unknown", "does not promise"),
        ("gpt-5.5", 1_500, "expired", "documented to be kept for up to 24 hours"),
        ("gpt-5.6-sol", 20, "unknown", "does not promise"),
        ("gpt-5.6-sol", 40, "expired", "documented to be kept for at least 30 minutes"),
    ],
)
def test_how_long_a_cache_lives_is_as_the_maker_of_the_model_says(
    model: str, minutes: float, cause: str, words: str
) -> None:
    calls = (
        Usage(10_000, 40_000, output=5),
        Usage(1_000, 50_000, output=5),
        Usage(40_000, 12_000, output=5),
    )
    found = broken(session(*calls, minutes=(0, 1, minutes), model=model))
    assert (found.cause, words in found.evidence) == (cause, True)


def test_a_message_that_reads_otherwise_explains_more_than_a_pause_where_all_before_it_was_read() -> (
    None
):
    calls = (24_100, 2_400), (30_000, 24_000), (40_000, 29_900), (40_500, 29_900)
    thread = session(
        *(Usage(sent - got, got, output=5) for sent, got in calls),
        minutes=(0, 1, 2, 12),
        model="gpt-5",
    )
    assert broken(thread).cause == "expired"
    *before, last = thread.requests
    messages = list(last.view.messages())
    messages[4] = Message(messages[4].id, "user", (Text("question 2, put otherwise"),))
    found = broken(
        replace(thread, requests=[*before, replace(last, view=Stretch(None, messages).view())])
    )
    assert (found.cause, found.place) == ("prefix-changed", 4)


def test_another_reasoning_effort_is_another_prompt_from_its_beginning_with_openai() -> None:
    calls = (24_100, 2_400), (30_000, 24_000), (40_000, 29_900), (41_000, 2_400)
    sign = Sign("settings", "effort changed", 30)

    def found(model: str, read: int, sign: Sign) -> tuple[str, bool]:
        sent = [Usage(sent - got, got, output=5) for sent, got in (*calls[:3], (41_000, read))]
        told = broken(session(*sent, model=model), sign)
        return told.cause, "Effort changed (line 30)." in told.evidence

    assert found("gpt-5.5", 2_400, sign) == ("prefix-changed", True)
    assert found("gpt-5.5", 2_400, replace(sign, what="approval policy changed")) == (
        "unknown",
        False,
    )
    assert found("gpt-5.5", 28_000, sign) == ("unknown", True)  # the beginning was read
    assert found("glm-5", 2_400, sign) == ("unknown", True)


def by_itself(
    *calls: tuple[int, int], minutes: tuple[float, ...] = (), role: Role = "user"
) -> list[Rebilling]:
    """Breaks of calls to a provider that keeps its caches by itself: (tokens sent, tokens read)."""
    thread = session(
        *(Usage(sent - read, read, output=5) for sent, read in calls),
        minutes=minutes,
        model="gpt-5",
    )
    anew = {
        id(one): replace(one, role=role) if one.role == "user" else one for one in thread.messages
    }
    whole = Stretch(own=[anew[id(one)] for one in thread.messages])
    requests = [replace(one, view=whole.view(len(one.view))) for one in thread.requests]
    thread = replace(thread, requests=requests, messages=whole.own, end=whole.view())
    return list(cache_breaks(thread, Session("made", (thread,))))


OTHER_CACHE = (24_100, 2_400), (32_000, 24_000), (40_000, 31_900), (42_000, 2_400)


def test_a_provider_that_answers_from_a_cache_that_has_seen_less() -> None:
    (found,) = by_itself(*OTHER_CACHE, (50_000, 39_900))
    assert (found.cause, found.inferred) == ("other-cache", True)
    assert "Request 4 read 39,900 tokens again, up to the end of request 2." in found.evidence
    (found,) = by_itself(*OTHER_CACHE[:3], (48_000, 24_000), role="tool")
    assert found.cause == "other-cache"
    assert (
        "up to the end of request 0. Request 2 had read 31,900 tokens of the same prompt."
        in found.evidence
    )


def test_it_is_not_the_provider_where_no_count_shows_that_it_still_had_it() -> None:
    assert [one.cause for one in by_itself(*OTHER_CACHE, (50_000, 41_900))] == ["unknown"]
    assert [one.cause for one in by_itself(*OTHER_CACHE[:3], (48_000, 28_000), role="tool")] == [
        "unknown"
    ]
    # A turn begins there.
    assert [one.cause for one in by_itself(*OTHER_CACHE[:3], (48_000, 24_000))] == ["unknown"]
    after_a_while = by_itself(*OTHER_CACHE, (50_000, 39_900), minutes=(0, 1, 2, 3, 20))
    assert [one.cause for one in after_a_while] == ["unknown"]
    close = (30_100, 2_400), (31_000, 30_000), (31_900, 30_900), (37_900, 31_800), (39_000, 30_000)
    # Any place is the end of some call.
    assert [one.cause for one in by_itself(*close, role="tool")] == ["unknown"]


def test_what_the_provider_did_was_not_avoidable() -> None:
    calls = (Usage(sent - read, read, output=5) for sent, read in (*OTHER_CACHE, (50_000, 39_900)))
    thread = session(*calls, model="gpt-5")
    found = session_cost(Session("made", (thread,)))
    assert found.breaks_usd
    assert not found.avoidable


def test_the_short_answer_says_no_more_than_the_evidence() -> None:
    """Where no message reads otherwise, none is said to have changed."""
    twice = session(*GREW, used(10_100, 43_000), used(53_102, 500), used(10_100, 44_000))
    found = describe_cost(session_cost(Session("made", (twice,)))).text
    assert (
        "tokens were re-sent: something early in the prompt changed that the file does not record."
        in found
    )
    assert "2 cache misses outside compactions: 85,406 tokens" in found


# -- money


def test_bills_add_up_to_what_the_calls_cost() -> None:
    thread = session(*GREW, LOST)
    bill = sum_bills(thread_bills(thread))
    assert bill is not None
    assert bill.total == thread_cost(thread)
    rounded = bill.rounded(2)
    assert rounded.total == round(bill.total, 2)
    assert sum_bills(thread_bills(session(*GREW, model="nobody's"))) is None


def test_what_an_hour_would_have_saved() -> None:
    thread = session(*GREW, LOST, minutes=(0, 1, 2, 20))
    hour, minutes = what_ifs([thread], sum_bills(thread_bills(thread)) or Bill())
    whole = thread_cost(thread)
    assert whole is not None
    written, read = 40_000 + 1_000 + 1_000 + (53_000 - 52_006), 10_000 + 50_002 + 51_004 + 52_006
    rest = 4 * (2 * Decimal("0.000005") + 100 * Decimal("0.000025"))
    assert hour.usd == written * WRITE_1H + read * READ + rest
    assert hour.saved_usd == whole - hour.usd
    assert minutes.saved_usd == 0


def test_what_five_minutes_would_have_lost() -> None:
    thread = session(used(0, 50_000), used(50_000, 1_000), minutes=(0, 20), hourly=True)
    hour, minutes = what_ifs([thread], sum_bills(thread_bills(thread)) or Bill())
    assert hour.saved_usd == 0
    rest = 2 * (2 * Decimal("0.000005") + 100 * Decimal("0.000025"))
    assert minutes.usd == 101_000 * WRITE + rest
    assert what_ifs([session(Usage(5), Usage(6))], Bill()) == ()


def test_a_session_is_the_sum_of_its_threads() -> None:
    one, two = (
        session(*GREW, LOST, minutes=(0, 1, 2, 20)),
        replace(session(*GREW), id="sub", parent="main"),
    )
    found = session_cost(Session("made", (one, two)))
    assert found.bill is not None
    assert found.bill.total == (thread_cost(one) or 0) + (thread_cost(two) or 0)
    assert [one.thread for one in found.breaks] == ["main"]
    assert found.avoidable == found.breaks[0].avoidable_usd
    assert session_cost(Session("made", (one, two)), two).breaks == ()
