"""tiktoken from the shipped vocabularies: no network, no cache folder, no environment variable.

The encoding is put together here from the checked file, because tiktoken's own loader deletes a vocabulary whose hash
is wrong and fetches another. Imported and loaded on first use (0.1 to 0.3 s).
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from inspector.core.errors import InspectorError
from inspector.resources import resource


class TokenizerRefused(InspectorError):
    """The tokenizer gave up on a text: that sample has no count."""


class VocabularyMissing(InspectorError):
    """A shipped vocabulary is not there, is damaged, or has no such name."""


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    file: str
    sha256: str
    pattern: str
    """How the encoding cuts text into words, as published with it."""
    specials: tuple[tuple[str, int], ...]


_O200K_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
VOCABULARIES = {
    "o200k_base": _Vocabulary(
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "|".join(
            (
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _O200K_ENDING,
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _O200K_ENDING,
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
        (("<|endoftext|>", 199999), ("<|endofprompt|>", 200018)),
    ),
    "cl100k_base": _Vocabulary(
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        (("<|endoftext|>", 100257), ("<|endofprompt|>", 100276)),
    ),
}


def count_tokens(text: str, encoding: str) -> int:
    """Tokens of a text, special-token spellings counted as ordinary text.

    Raises TokenizerRefused where tiktoken gives up, VocabularyMissing where there is no such vocabulary.
    """
    encode = load(encoding)
    return sum(_encoded_length(encode, piece) for piece in pieces(text))


@cache
def load(encoding: str) -> Callable[[str], list[int]]:
    """The text-to-tokens function of an encoding. Raises VocabularyMissing."""
    vocabulary = VOCABULARIES.get(encoding)
    if vocabulary is None:
        raise VocabularyMissing(f"There is no vocabulary {encoding!r}. Known: {', '.join(VOCABULARIES)}.")
    path = resource(f"tiktoken/{vocabulary.file}")
    data = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(data).hexdigest() != vocabulary.sha256:
        raise VocabularyMissing(f"The vocabulary {encoding} at {path} is missing or damaged: install the program anew.")
    import tiktoken

    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}
    return tiktoken.Encoding(
        encoding, pat_str=vocabulary.pattern, mergeable_ranks=ranks, special_tokens=dict(vocabulary.specials)
    ).encode_ordinary


PIECE = 64 * 1024
"""Characters given to tiktoken at a time: it dies on a million spaces, 100,000 are fine."""
_SPACE_BEFORE_WORD = re.compile(r"\s(?=\S)")
_LOOK_BACK = 256


def pieces(text: str) -> Iterator[str]:
    """The text in pieces of at most PIECE characters, cut before the space in front of a word where there is one.

    Such a cut seldom changes the count; another one changes it by a token or two.
    """
    at = 0
    while len(text) - at > PIECE:
        end = at + PIECE
        cut = max((found.start() for found in _SPACE_BEFORE_WORD.finditer(text, end - _LOOK_BACK, end)), default=end)
        yield text[at:cut]
        at = cut
    yield text[at:] if at else text


def _encoded_length(encode: Callable[[str], list[int]], piece: str) -> int:
    try:
        return len(encode(piece))
    except BaseException as panic:  # a Rust panic is no Exception and cannot be named
        if type(panic).__name__ != "PanicException":
            raise
        raise TokenizerRefused(f"The tokenizer gave up on a text of {len(piece):,} characters.") from None
