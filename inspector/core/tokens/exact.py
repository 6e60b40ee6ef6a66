"""The exact o200k tokenizer, for many texts at once. It weighs everything except a policy's own count.

If the package toktok is installed, it counts 140 to 250 MB a second, with its own vocabularies. If not, tiktoken counts
at a tenth of that speed; both return the same numbers. Loading takes 0.3 s in which no other thread runs, so a thread
calls `load_tokenizer` before the first number is needed.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from threading import Lock
from typing import TypeAlias

from inspector.core.heavy import load_module
from inspector.core.rounding import divide_up
from inspector.core.tokens.counted import TokenizerRefused, count_tokens, cut_text

ENCODING = "o200k_base"
_AT_ONCE = 512
"""Texts in a batch: the overhead of a call is that of counting a kilobyte."""
_LOCK = Lock()

_BatchCount: TypeAlias = Callable[[Sequence[str]], list[int]]


def load_tokenizer() -> None:
    """Load the tokenizer if it is not loaded. Takes 0.3 s in which no other thread runs."""
    _tokenizer()


def is_loaded() -> bool:
    """Can texts be counted without waiting for the tokenizer?"""
    return _load.cache_info().currsize > 0


def count_texts(texts: Sequence[str]) -> list[int]:
    """Count the tokens of each text, in order. Spellings of special tokens count as ordinary text."""
    count = _tokenizer()
    cut = [list(cut_text(text)) for text in texts]
    flat = [piece for some in cut for piece in some]
    counts: list[int] = []
    for start in range(0, len(flat), _AT_ONCE):
        counts += count(flat[start : start + _AT_ONCE])
    if len(flat) == len(cut):
        return counts
    one_by_one = iter(counts)
    return [sum(islice(one_by_one, len(few))) for few in cut]


def count_text(text: str) -> int:
    """Count the tokens of one text."""
    return count_texts((text,))[0]


def _tokenizer() -> _BatchCount:
    with _LOCK:
        return _load()


@cache
def _load() -> _BatchCount:
    try:
        batch_count = load_module("toktok").batch_count
    except ImportError:  # no wheel for this machine
        count_tokens("load", ENCODING)
        return _count_by_tiktoken

    def count(texts: Sequence[str]) -> list[int]:
        try:
            return list(batch_count(texts, ENCODING, threads=1))
        except UnicodeEncodeError:  # one lone surrogate fails the whole batch
            return list(batch_count(list(map(_without_surrogates, texts)), ENCODING, threads=1))

    count(("load",))
    return count


def _without_surrogates(text: str) -> str:
    """Return the text as tiktoken reads it: a surrogate pair as its character, a lone surrogate as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _count_by_tiktoken(texts: Sequence[str]) -> list[int]:
    return [_count_or_guess(text) for text in texts]


def _count_or_guess(text: str) -> int:
    try:
        return count_tokens(text, ENCODING)
    except TokenizerRefused:
        return divide_up(len(text), 4)
