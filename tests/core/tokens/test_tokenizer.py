"""The tokenizer: the right counts without network, cut without loss, and no crash when it panics."""

import base64
import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.core.message import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from inspector.core.tokens import counted
from inspector.core.tokens.counted import (
    CALL_FRAMING,
    MESSAGE_FRAMING,
    PIECE,
    RESULT_FRAMING,
    Tiktoken,
    TokenizerRefused,
    VocabularyMissing,
    count_tokens,
    cut_text,
    opaque_tokens,
    vocabularies,
)
from inspector.resources import resource


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("hello world", 2, 2),
        ("中文段落示例", 5, 7),
        ("", 0, 0),
        ("a <|endoftext|> b", 9, 8),
        ("\ud800", 1, 1),
    ],
)
def test_counts(text: str, o200k: int, cl100k: int) -> None:
    assert (count_tokens(text, "o200k_base"), count_tokens(text, "cl100k_base")) == (o200k, cl100k)


@pytest.mark.parametrize("name", vocabularies())
def test_same_as_the_library_puts_it_together(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import tiktoken

    for file in resource(
        "tiktoken"
    ).iterdir():  # a copy, because the library deletes what it does not like
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    theirs = tiktoken.get_encoding(name)
    for text in (
        "It's 1,234.5 km\r\n\n  to 北京 – naïve\t😀!",
        "def f(x):\n    return {'a': [1, 2]}\n" * 5,
        " " * 50,
    ):
        assert counted.load_encoding(name)(text) == theirs.encode_ordinary(text)


def test_shipped_vocabularies_are_whole() -> None:
    for vocabulary in vocabularies().values():
        data = resource(f"tiktoken/{vocabulary['file']}").read_bytes()
        assert hashlib.sha256(data).hexdigest() == vocabulary["sha256"]


def test_a_damaged_vocabulary_is_told_and_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    damaged = tmp_path / "vocabulary"
    damaged.write_bytes(b"QQ== 0\n")
    monkeypatch.setattr(counted, "resource", lambda name: damaged)
    counted.load_encoding.cache_clear()
    with pytest.raises(VocabularyMissing, match="damaged"):
        counted.load_encoding("o200k_base")
    assert damaged.exists()


def test_unknown_vocabularies_are_told() -> None:
    with pytest.raises(VocabularyMissing, match="cl100k_base"):
        count_tokens("x", "p50k")


def test_a_million_spaces_are_counted() -> None:
    assert 0 < count_tokens(" " * 1_000_000, "o200k_base") < 100_000


class PanicException(BaseException):
    """What a Rust panic looks like from here."""


def test_a_panic_is_a_refusal() -> None:
    def panic(text: str) -> list[int]:
        raise PanicException("stack overflow")

    with pytest.raises(TokenizerRefused, match="gave up"):
        counted._encoded_length(panic, "x")


def test_other_base_exceptions_pass() -> None:
    def stop(text: str) -> list[int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        counted._encoded_length(stop, "x")


@settings(max_examples=20)
@given(st.text(alphabet="ab \n", min_size=1, max_size=50), st.integers(1, 4))
def test_pieces_are_the_text(unit: str, times: int) -> None:
    text = unit * (times * PIECE // len(unit) + 1)
    cut = list(cut_text(text))
    assert "".join(cut) == text
    assert all(0 < len(piece) <= PIECE for piece in cut)


def test_cuts_before_words_change_nothing() -> None:
    text = "the quick brown fox jumps over the lazy dog and " * 3000
    whole = len(counted.load_encoding("o200k_base")(text))
    assert abs(count_tokens(text, "o200k_base") - whole) <= 1


def test_weight_of_a_message_is_everything_the_model_sees() -> None:
    by = Tiktoken()
    png = "iVBORw0KGgoAAAANSUhEUgAAA+gAAAJYCAYAAAA"  # 1000 x 600
    message = Message(
        "a",
        "assistant",
        (
            Text("hello world"),
            Thinking("hello world"),
            Thinking("hello world", "gAAAA" + "c" * 155),
            Thinking("hello world", "c" * 160, 7),
            ToolCall("id", "ls", "hello world"),
            ToolResult("id", "hello world"),
            Image("image/png", png),
            Opaque("compaction", {}, 400),
        ),
    )
    assert by.weigh(message) == (
        MESSAGE_FRAMING
        + 2
        + (2 + 30 + 7)
        + (CALL_FRAMING + 1 + 2)
        + (RESULT_FRAMING + 2)
        + 800
        + 100
    )


def sealed(thought: int) -> str:
    """As Anthropic's are: a protocol buffer whose first field holds all."""
    length = bytes([0x12, thought & 0x7F | 0x80, thought >> 7])
    return base64.b64encode(length + bytes(range(256)) * (thought // 256) + b"\x18\x01").decode()


def test_a_signature_counts_for_the_thought_only_where_it_holds_it() -> None:
    text, count = "We look at the file first.", Tiktoken()
    plain = count.weigh(Message("m", "assistant", (Thinking(text),)))
    anthropic, fernet = sealed(1_024), "gAAAAAB" + "x" * 993
    for signature in (anthropic, fernet):
        held = MESSAGE_FRAMING + opaque_tokens(len(signature))
        assert count.weigh(Message("m", "assistant", (Thinking(text, signature),))) == held
    for signature in (
        "reasoning_content",
        "72fe" * 1_085,
        anthropic[:200],
        "EA" * 300,
    ):
        assert count.weigh(Message("m", "assistant", (Thinking(text, signature),))) == plain
    assert count.weigh(Message("m", "assistant", (Thinking("", "72fe" * 1_085),))) > plain
