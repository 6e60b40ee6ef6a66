"""Summaries on disk: asked once, answered for ever."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.message import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from inspector.core.needs import Answer, Need, ProviderFailure, ReadFile, RemoteCompact, Summarize
from inspector.core.usage import Usage
from inspector.providers.summary_cache import Cached, cache_folder


class Model:
    """Answers with a number of its own each time."""

    def __init__(self, reply: Answer | None = None) -> None:
        self.calls = 0
        self._reply = reply

    def __call__(self, need: Need) -> Answer:
        self.calls += 1
        return self._reply or Answer(f"summary {self.calls}", usage=Usage(10, 0, 0, 3), by="model")


SAID = Message("m", "user", (Text("hello"),))
NEED = Summarize("instructions", "text", (SAID,), 100)


def test_the_second_run_asks_nobody(tmp_path: Path) -> None:
    model = Model()
    first = Cached(model, "openai", "gpt", tmp_path)
    told = first(NEED)
    second = Cached(model, "openai", "gpt", tmp_path)
    assert second(NEED) == told
    assert told.usage == Usage(10, 0, 0, 3)
    assert (model.calls, first.asked, first.hits, second.asked, second.hits) == (1, 1, 0, 0, 1)


@pytest.mark.parametrize(
    ("who", "model", "need"),
    [
        ("anthropic", "gpt", NEED),
        ("openai", "gpt-2", NEED),
        ("openai", "gpt", Summarize("other", "text", (SAID,), 100)),
        ("openai", "gpt", Summarize("instructions", "other", (SAID,), 100)),
        ("openai", "gpt", Summarize("instructions", "text", (), 100)),
        (
            "openai",
            "gpt",
            Summarize("instructions", "text", (Message("m", "assistant", SAID.parts),), 100),
        ),
        ("openai", "gpt", Summarize("instructions", "text", (SAID,), 101)),
        ("openai", "gpt", RemoteCompact("instructions", (SAID,))),
    ],
)
def test_another_question_is_another_entry(
    tmp_path: Path, who: str, model: str, need: Need
) -> None:
    real = Model()
    Cached(real, "openai", "gpt", tmp_path)(NEED)
    Cached(real, who, model, tmp_path)(need)
    assert real.calls == 2


def test_what_is_not_sent_makes_no_difference(tmp_path: Path) -> None:
    real = Model()
    Cached(real, "openai", "gpt", tmp_path)(NEED)
    same = Summarize(
        "instructions",
        "text",
        (Message("n", "user", SAID.parts, line=7),),
        100,
        9.0,
        (SAID,),
        "other",
    )
    Cached(real, "openai", "gpt", tmp_path)(same)
    assert real.calls == 1


def test_failures_and_other_needs_are_not_kept(tmp_path: Path) -> None:
    def broken(need: Need) -> Answer:
        raise ProviderFailure("no")

    with pytest.raises(ProviderFailure):
        Cached(broken, "openai", "gpt", tmp_path)(NEED)
    Cached(Model(), "openai", "gpt", tmp_path)(ReadFile("a"))
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize(
    "rubbish", [b"", b"{", b"[]", b'{"text": 3}', b'{"text": "x", "messages": [{}]}', b"\xff\x00"]
)
def test_an_entry_that_cannot_be_read_is_asked_for_again(tmp_path: Path, rubbish: bytes) -> None:
    model = Model()
    Cached(model, "openai", "gpt", tmp_path)(NEED)
    (entry,) = tmp_path.rglob("*.json")
    entry.write_bytes(rubbish)
    assert Cached(model, "openai", "gpt", tmp_path)(NEED).text == "summary 2"
    assert Cached(model, "openai", "gpt", tmp_path)(NEED).text == "summary 2"


def test_the_folder_is_the_users_alone(home: Path) -> None:
    Cached(Model(), "openai", "gpt")(NEED)
    (entry,) = cache_folder().rglob("*.json")
    assert home in entry.parents
    assert entry.stat().st_mode & 0o077 == 0
    assert entry.parent.stat().st_mode & 0o077 == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5), st.lists, max_leaves=5
)
PARTS: Any = st.one_of(
    st.builds(Text, st.text(max_size=9)),
    st.builds(Thinking, st.text(max_size=9), st.just("sig")),
    st.builds(
        ToolCall,
        st.just("c"),
        st.just("Read"),
        st.dictionaries(st.text(max_size=3), JSON, max_size=2),
    ),
    st.builds(ToolResult, st.just("c"), st.text(max_size=9), st.booleans()),
    st.builds(Image, st.just("image/png"), st.just("aGk=")),
    st.builds(Opaque, st.just("compaction"), JSON, st.integers(0, 9)),
)


@given(st.lists(PARTS, max_size=4), st.text(max_size=9))
def test_an_answer_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, parts: Any, text: str
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    told = Answer(text, (Message("m", "assistant", tuple(parts)),), finish="stop", by="model")
    Cached(Model(told), "openai", "gpt", folder)(RemoteCompact("i", (SAID,)))
    assert Cached(Model(), "openai", "gpt", folder)(RemoteCompact("i", (SAID,))) == told


def test_arguments_without_end_are_no_trap(tmp_path: Path) -> None:
    deep: Any = []
    for _ in range(20_000):
        deep = [deep]
    need = Summarize("i", "", (Message("m", "assistant", (ToolCall("c", "Read", deep),)),))
    model = Model()
    Cached(model, "openai", "gpt", tmp_path)(need)
    Cached(model, "openai", "gpt", tmp_path)(need)
    assert model.calls == 1
