"""The exact weigher: tiktoken is its oracle, and what is recorded has one size wherever it stands."""

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Prompt, Stretch, Tool
from inspector.core.findings.composition import CATEGORIES, composition
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.session import Request, Thread
from inspector.core.tokens import exact
from inspector.core.tokens.counted import count_tokens
from inspector.core.tokens.estimators import count, messages_weight, weigh_all
from inspector.core.tokens.exact import count_text, count_texts
from inspector.core.tokens.families import family_of
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.tokens.weigher import Weigher, weigher, weigher_of
from inspector.core.usage import Usage

CLAUDE = weigher(family_of("claude-opus-4-5"))
texts = st.text(st.characters(), max_size=300)


@given(st.lists(texts, max_size=6))
def test_counts_of_a_batch_are_those_of_tiktoken(some: list[str]) -> None:
    assert count_texts(some) == [count_tokens(text, "o200k_base") for text in some]


def test_count_when_one_text_of_a_batch_has_a_lone_surrogate_counts_all() -> None:
    some = ["plain", "a\ud800b", "\ud83d\ude00", "<|endoftext|>", ""]
    assert count_texts(some) == [count_tokens(text, "o200k_base") for text in some]


def test_count_of_a_long_text_is_that_of_tiktoken() -> None:
    chance = random.Random(3)
    words = " ".join(
        chance.choice(["def", "größer", "上下文", "0x1f", "\t\n", "{}"]) for _ in range(60_000)
    )
    assert count_text(words) == count_tokens(words, "o200k_base")


def test_count_of_many_texts_goes_beyond_one_batch() -> None:
    some = [f"text number {n} " * (n % 7) for n in range(1_300)]
    assert count_texts(some) == [count_tokens(text, "o200k_base") for text in some]


def test_count_without_the_fast_tokenizer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    some = ["Fix the importer.", "a\ud800b", "x" * 70_000]
    fast = count_texts(some)
    monkeypatch.setitem(__import__("sys").modules, "toktok", None)
    exact._load.cache_clear()
    try:
        assert count_texts(some) == fast
    finally:
        monkeypatch.undo()
        exact._load.cache_clear()


parts = st.lists(
    st.one_of(
        texts.map(Text),
        st.builds(
            Thinking, texts, st.text("ab+/", max_size=400), st.none() | st.integers(0, 9_000)
        ),
        st.builds(ToolCall, st.just("c"), texts, st.dictionaries(texts, texts, max_size=2)),
        st.builds(ToolResult, st.just("c"), texts),
        st.builds(Image, st.just("image/png"), st.text("abc", max_size=40)),
        st.builds(Opaque, st.just("x"), st.none(), st.integers(0, 5_000)),
    ),
    max_size=5,
)


@given(st.lists(parts, max_size=5))
def test_weights_of_many_messages_are_those_of_each_alone(several: list[list[Part]]) -> None:
    together = [Message(f"m{n}", "user", tuple(some)) for n, some in enumerate(several)]
    alone = [replace(message) for message in together]
    weigh_all(CLAUDE, together)
    assert [CLAUDE.weigh(message) for message in alone] == [
        one.counts[CLAUDE.name] for one in together
    ]
    for one, other in zip(together, alone, strict=True):
        assert (
            list(CLAUDE.part_weights(one))
            == list(CLAUDE.part_weights(other))
            == CLAUDE.weigh_parts(one.parts)
        )


@given(st.lists(parts, min_size=1, max_size=5), st.booleans())
def test_categories_add_up_to_the_weight_of_the_messages(
    several: list[list[Part]], from_model: bool
) -> None:
    role: Role = "assistant" if from_model else "user"
    view = Stretch(
        own=[Message(f"m{n}", role, tuple(some)) for n, some in enumerate(several)]
    ).view()
    found = composition(CLAUDE, view)
    assert set(found) <= set(CATEGORIES)
    assert sum(found.values()) == messages_weight(CLAUDE, view)


def test_sealed_thinking_weighs_by_its_signature_and_not_by_its_digest() -> None:
    sealed = "gAAAA" + "x" * 2_995
    short, long = (
        Message("m", "assistant", (Thinking(text, sealed),))
        for text in ("In short.", "At length. " * 300)
    )
    assert CLAUDE.weigh(short) == CLAUDE.weigh(long)
    assert count(CLAUDE, short) - count(CLAUDE, Message("m", "assistant", ())) == round(
        0.183 * (3_000 - 130)
    )


def test_thinking_that_was_reported_weighs_what_the_provider_counted() -> None:
    for model in ("claude-opus-4-5", "claude-opus-5", "gemini-3-pro"):
        by = weigher(family_of(model))
        (weight,) = by.weigh_parts([Thinking("", "", 900)])
        assert weight * by.family.factor == pytest.approx(900, abs=1)


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        ("claude-opus-4-5", 1_000, 1_000, 1_334),
        ("claude-opus-4-5", 4_000, 3_000, 1_600),
        ("claude-opus-4-5", 2_000, 200, 328),
        ("claude-opus-5", 2_000, 1_500, 4_000),
        ("gpt-4o", 1_024, 1_024, 765),
        ("gpt-4o", 2_048, 4_096, 1_105),
        ("gpt-5.1", 1_024, 1_024, 630),
        ("gpt-5-mini", 1_024, 1_024, 1_024),
        ("gpt-5.5", 4_096, 4_096, 1_536),
        ("gemini-2.5-pro", 384, 384, 258),
        ("gemini-2.5-pro", 960, 540, 1_548),
    ],
)
def test_picture_costs_what_its_provider_charges_for_its_size(
    model: str, width: int, height: int, tokens: int
) -> None:
    assert family_of(model).images(width, height) == tokens


def test_a_row_weighs_the_same_at_every_request_of_a_model() -> None:
    words = [f"Line {n} of the file that was read, with some words in it. " * 30 for n in range(12)]
    messages = [Message(f"m{n}", "user", (Text(text),)) for n, text in enumerate(words)]
    stretch, told = Stretch(own=messages), 20_000
    requests = []
    for n in range(12):
        told += round(1.3 * CLAUDE.weigh(messages[n])) + 7 * n
        requests.append(
            Request(n, stretch.view(n + 1), usage=Usage(input=told), model="claude-opus-4-5")
        )
    thread = Thread("main", "", "claude-opus-4-5", requests, messages, stretch.view())
    pressures = known_pressures(thread)
    assert {sizer(pressures, n).row(messages[0]) for n in range(12)} == {
        sizer(pressures, None).row(messages[0])
    }
    for n, request in enumerate(requests):
        size = sizer(pressures, n)
        rows = size.rows(request.view)
        assert rows + size.scale.unseen + size.scale.difference == size.pressure.tokens
        assert size.scale.slope == pytest.approx(1.3, rel=0.05)


def test_tool_schemas_weigh_as_they_were_sent() -> None:
    definition = {
        "name": "Read",
        "description": "Reads a file.",
        "input_schema": {"type": "object"},
    }
    prompt = Prompt(None, (Tool("Read", definition),))
    sent = json.dumps(definition, separators=(",", ":"), ensure_ascii=False)
    assert CLAUDE.weigh_prompt(prompt) == count_tokens(sent, "o200k_base")


def test_weigher_of_a_thread_is_that_of_the_first_model_it_names() -> None:
    requests = (Request(0, Stretch().view()), Request(1, Stretch().view(), model="gpt-5.5"))
    assert weigher_of(Thread("main", requests=requests)).family == family_of("gpt-5.5")
    rough = weigher_of(Thread("main", model="claude-opus-4-5"), is_rough=True)
    assert isinstance(rough, Weigher)
    assert rough.name != CLAUDE.name
    assert rough.text("x" * 400) == 100


def test_weigh_prompt_when_loading_of_a_tool_is_deferred_leaves_it_out() -> None:
    one, other = (
        {"name": "axe", "description": "cuts"},
        {"name": "saw", "description": "cuts finely"},
    )
    late = {**other, "defer_loading": True}
    group = {"type": "namespace", "name": "tools", "tools": [one]}
    told = [Tool("axe", one)], [Tool("axe", one), Tool("saw", late)]
    assert CLAUDE.weigh_prompt(Prompt(None, tuple(told[0]))) == CLAUDE.weigh_prompt(
        Prompt(None, tuple(told[1]))
    )
    assert CLAUDE.weigh_prompt(Prompt(None, (Tool("saw", other),))) > 0
    groups = [(Tool("tools", {**group, "tools": tools}),) for tools in ([one], [one, late])]
    assert CLAUDE.weigh_prompt(Prompt(None, groups[0])) == CLAUDE.weigh_prompt(
        Prompt(None, groups[1])
    )


@pytest.mark.parametrize(
    ("model", "signature"), [("claude-opus-4-5", 130), ("claude-opus-5", 343), ("gpt-5.5", 870)]
)
def test_weigh_sealed_thought_when_signature_is_its_frame_alone_is_nothing(
    model: str, signature: int
) -> None:
    family = family_of(model)
    assert family.weigh_sealed("x" * signature) == 0
    assert 160 < family.weigh_sealed("x" * (signature + 1_000)) < 190


def test_framing_of_calls_is_that_of_the_family() -> None:
    alone: list[Part] = [ToolCall("c", "ls", {}), ToolResult("c", "a b")]
    weights = {
        model: sum(weigher(family_of(model)).weigh_parts(alone))
        for model in ("gpt-5.5", "claude-opus-4-5")
    }
    assert weights["claude-opus-4-5"] - weights["gpt-5.5"] == (42 + 10) - (10 + 9)
