"""Count everything that the model sees with tiktoken and the shipped vocabularies: no network, no cache folder.

This module builds the encoding from the checked file, because tiktoken's own loader deletes a vocabulary whose hash is
wrong and downloads another. The encoding is loaded at first use (0.1 to 0.3 s). A size is assumed for content that no
tokenizer can read (images, hidden thinking, encrypted content). The size of an image follows from its pixels, which are
read from the first bytes without decoding the picture. The framing that providers write around messages, calls and
results is the median over providers, measured on recorded usage.
"""

import base64
import binascii
import hashlib
import re
import struct
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.message import (
    Image,
    Json,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.rounding import divide_up
from inspector.core.tokens.estimator import Estimator, Kind
from inspector.resources import resource


class TokenizerRefused(InspectorError):
    """The tokenizer failed on a text: that sample has no count."""


class VocabularyMissing(InspectorError):
    """A shipped vocabulary is missing or damaged, or there is none of that name."""


@cache
def vocabularies() -> Mapping[str, Mapping[str, Any]]:
    """Return the entries of `resources/tiktoken/vocabularies.toml` by encoding."""
    return tomllib.loads(resource("tiktoken/vocabularies.toml").read_text("utf-8"))


def count_tokens(text: str, encoding: str) -> int:
    """Count the tokens of a text; the spellings of special tokens count as ordinary text.

    Raises:
        TokenizerRefused: tiktoken failed on the text.
        VocabularyMissing: There is no such vocabulary.
    """
    encode = load_encoding(encoding)
    return sum(_encoded_length(encode, piece) for piece in cut_text(text))


@cache
def load_encoding(encoding: str) -> Callable[[str], list[int]]:
    """Return the function of an encoding that turns a text into tokens. Raises VocabularyMissing."""
    vocabulary = vocabularies().get(encoding)
    if vocabulary is None:
        raise VocabularyMissing(
            f"There is no vocabulary {encoding!r}. Known: {', '.join(vocabularies())}."
        )
    path = resource(f"tiktoken/{vocabulary['file']}")
    data = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(data).hexdigest() != vocabulary["sha256"]:
        raise VocabularyMissing(
            f"The vocabulary {encoding} at {path} is missing or damaged. Reinstall the program."
        )
    import tiktoken

    ranks = {
        base64.b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())
    }
    cuts = vocabulary["pattern"].replace("\n", "")
    return tiktoken.Encoding(
        encoding, pat_str=cuts, mergeable_ranks=ranks, special_tokens=vocabulary["specials"]
    ).encode_ordinary


PIECE = 64 * 1024
"""Largest number of characters given to tiktoken at once: it crashes on a million spaces, but not on 100,000."""
_SPACE_BEFORE_WORD = re.compile(r"\s(?=\S)")
_LOOK_BACK = 256


def cut_text(text: str) -> Iterator[str]:
    """Split a text into pieces of at most PIECE characters, if possible before the space in front of a word.

    A cut before a space seldom changes the token count; any other cut changes it by a token or two.
    """
    at = 0
    while len(text) - at > PIECE:
        end = at + PIECE
        cut = max(
            (match.start() for match in _SPACE_BEFORE_WORD.finditer(text, end - _LOOK_BACK, end)),
            default=end,
        )
        yield text[at:cut]
        at = cut
    yield text[at:] if at else text


def _encoded_length(encode: Callable[[str], list[int]], piece: str) -> int:
    try:
        return len(encode(piece))
    except BaseException as panic:  # a Rust panic is no Exception, and its class cannot be imported
        if type(panic).__name__ != "PanicException":
            raise
        raise TokenizerRefused(
            f"The tokenizer gave up on a text of {len(piece):,} characters."
        ) from None


MESSAGE_FRAMING = 4
"""Tokens of the role and separators of a message."""
CALL_FRAMING = 32
RESULT_FRAMING = 16
"""Tokens that are written around a call and around its result: the median over providers. `families` has the values of
each family."""


def opaque_tokens(characters: int) -> int:
    """Return the tokens of base64 that only the provider can read: 3/4 byte per character, 4 bytes per token."""
    return divide_up(characters * 3, 16)


def holds_thought(signature: str) -> bool:
    """Does a signature contain the thinking itself, encrypted?

    The signatures of Anthropic and Google (a protocol buffer that begins with its length) and OpenAI (a Fernet token)
    do, and the text beside them is a digest. Other providers only sign (Kimi: always 4,340 characters), or write the
    name of a field: then the text itself is sent.
    """
    if signature.startswith("gAAAA"):
        return True
    try:
        head = base64.b64decode(signature[:12], validate=True)
    except (binascii.Error, ValueError):
        return False
    head = head.removeprefix(b"\x08\x02")
    if head[:1] != b"\x12":
        return False
    length = shift = 0
    for byte in head[1:]:
        length = length | (byte & 0x7F) << shift
        shift = shift + 7
        if byte < 0x80:
            break
    return -8 <= len(signature) * 3 // 4 - length <= 64


@dataclass(frozen=True, slots=True)
class Tiktoken(Estimator):
    """Counts text exactly as OpenAI's models of that encoding do; for other models the count is an approximation."""

    encoding: str = "o200k_base"
    kind: Kind = "counted"

    @property
    def name(self) -> str:
        if self.encoding == "o200k_base":
            return "tiktoken"
        return f"tiktoken-{self.encoding.removesuffix('_base')}"

    def text(self, text: str) -> int:
        return count_tokens(text, self.encoding)

    def weigh(self, message: Message) -> int:
        return MESSAGE_FRAMING + sum(map(self._part, message.parts))

    def _part(self, part: Part) -> int:
        match part:
            case Text():
                return self.text(part.text)
            case Thinking(text, signature, tokens):
                if tokens is not None:
                    return tokens
                if not text or holds_thought(signature):
                    return opaque_tokens(len(signature))
                return self.text(text)
            case ToolCall():
                return CALL_FRAMING + self.text(part.name) + self._json(part.arguments)
            case ToolResult():
                return RESULT_FRAMING + self.text(part.content)
            case Image():
                return image_tokens(part)
            case Opaque():
                return divide_up(part.size, 4) if part.tokens is None else part.tokens

    def _json(self, value: Json) -> int:
        return self.text(value if isinstance(value, str) else dumps(value))

    def weigh_prompt(self, prompt: Prompt) -> int:
        system = self.text(prompt.system) + MESSAGE_FRAMING if prompt.system else 0
        return system + sum(self._json(tool.definition) for tool in prompt.tools or ())


PIXELS_PER_TOKEN = 750
"""Anthropic's rule: width x height / 750."""
LARGEST = 1600
"""Tokens of the largest image: the provider scales larger ones down."""
UNKNOWN = 1200
"""Tokens of an image whose size cannot be read (Pi's flat 4,800 characters / 4)."""
_HEAD = 64 * 1024
"""Base64 characters that are searched for the size: in a JPEG the size may follow a thumbnail."""


def image_tokens(image: Image) -> int:
    """Return the tokens of an image, as Anthropic bills it; other providers are within a factor of two."""
    size = pixel_size(image)
    if size is None:
        return UNKNOWN
    width, height = size
    tokens = divide_up(width * height, PIXELS_PER_TOKEN)
    return max(1, min(LARGEST, tokens))


def pixel_size(image: Image) -> tuple[int, int] | None:
    """Return (width, height) of a PNG, JPEG, GIF or WebP; None if the head of the data does not hold them."""
    text = image.data[:_HEAD]
    if text.startswith("data:"):  # a URL, with the data after the comma
        _, _, text = text.rpartition(",")
    whole_groups = len(text) // 4 * 4  # base64 has groups of four characters
    try:
        data = base64.b64decode(text[:whole_groups])
    except (binascii.Error, ValueError):
        return None
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", data[16:24])
        if data.startswith(b"GIF8"):
            return struct.unpack("<HH", data[6:10])
        return _webp(data) or _jpeg(data)
    except struct.error:
        return None  # the head ends before the size


def _webp(data: bytes) -> tuple[int, int] | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack("<I", data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            (width,) = struct.unpack("<I", data[24:27] + b"\0")  # three bytes each
            (height,) = struct.unpack("<I", data[27:30] + b"\0")
            return width + 1, height + 1
        case _:
            return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Read the size in the frame header (SOF0-SOF15, without DHT, JPG and DAC), segment by segment."""
    if data[:2] != b"\xff\xd8":
        return None
    at = 2
    while at + 9 < len(data):
        marker, length = struct.unpack(">xBH", data[at : at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None
