"""Model families: the factor of each family's tokenizer, and its provider's charge for pictures.

A factor is the number of the model's tokens per token of o200k, measured over sessions of each family that were used
for nothing else. One factor per family is enough, because it differs between categories of content by at most 4 points.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from inspector.core.tokens.counted import CALL_FRAMING, RESULT_FRAMING

ImageRule: TypeAlias = Callable[[int, int], int]
"""A function that returns the tokens that the provider charges for a picture of (width, height) pixels."""


@dataclass(frozen=True, slots=True)
class Family:
    """Models that share a tokenizer and a rule for pictures."""

    name: str
    factor: float
    """Tokens of the model per token of o200k, until the session's reports show it."""
    doubt: float
    """Largest error of the factor on either side, as a share of the factor."""
    images: ImageRule
    call_framing: int = CALL_FRAMING
    result_framing: int = RESULT_FRAMING
    """`call_framing` and `result_framing` are the tokens of o200k that the provider adds to the text of a call and of
    its result: the median of reported sizes, for families with own values."""
    sealed: tuple[int, float] = (0, 0.155)
    """For a signature that contains the thinking, encrypted: (characters that hold no thinking, tokens of o200k for
    each further character), as the next prompt is charged for them."""

    def weigh_sealed(self, signature: str) -> float:
        """Return the tokens of o200k of the encrypted thinking in a signature."""
        idle, each = self.sealed
        return max(0, len(signature) - idle) * each


_MEASURED = 0.1
_UNKNOWN = 0.4
"""`doubt` of an unknown family: the measured factors are between 0.9 and 1.55."""


def _ceil(value: float) -> int:
    return -int(-value // 1)


def _pictures_by_area(longest: int, most: int) -> ImageRule:
    """Return Anthropic's rule: width x height / 750, after the longer edge is scaled down to `longest` pixels; at most
    `most` tokens."""

    def tokens(width: int, height: int) -> int:
        shrunk = min(1.0, longest / max(width, height, 1))
        return max(1, min(most, _ceil(width * height * shrunk * shrunk / 750)))

    return tokens


def _pictures_by_tile(base: int, each: int) -> ImageRule:
    """Return OpenAI's rule up to GPT-5: the picture is scaled into 2,048 x 2,048, then its shorter edge to 768 pixels,
    and costs `base` tokens plus `each` for every tile of 512 x 512."""

    def tokens(width: int, height: int) -> int:
        scale = min(1.0, 2048 / max(width, height, 1))
        shorter_edge = max(1.0, min(width, height) * scale)
        scale *= min(1.0, 768 / shorter_edge)
        columns = max(1, _ceil(width * scale / 512))
        rows = max(1, _ceil(height * scale / 512))
        return base + each * columns * rows

    return tokens


def _pictures_by_patch(width: int, height: int) -> int:
    """Return the tokens of OpenAI's small models and all from GPT-5.2: one per patch of 32 x 32, at most 1,536."""
    return max(1, min(1536, _ceil(width / 32) * _ceil(height / 32)))


def _pictures_by_crop(width: int, height: int) -> int:
    """Return the tokens of Gemini: 258 up to 384 x 384 pixels, else 258 per crop of about two thirds of the shorter
    edge (256 to 768 pixels)."""
    if width <= 384 and height <= 384:
        return 258
    crop = max(256, min(768, min(width, height) // 1.5))
    return 258 * _ceil(width / crop) * _ceil(height / crop)


_BY_AREA = _pictures_by_area(longest=1568, most=1600)
_OLD_CLAUDE = Family(
    "claude",
    factor=1.12,
    doubt=_MEASURED,
    images=_BY_AREA,
    call_framing=42,
    result_framing=10,
    sealed=(130, 0.183),
)
_NEW_CLAUDE = Family(
    "claude 4.7",
    factor=1.55,
    doubt=_MEASURED,
    images=_pictures_by_area(longest=2576, most=4784),
    call_framing=40,
    result_framing=4,
    sealed=(343, 0.183),
)
_FERNET = (870, 0.165)
_GPT = Family(
    "gpt",
    factor=0.97,
    doubt=_MEASURED,
    images=_pictures_by_tile(base=85, each=170),
    call_framing=10,
    result_framing=9,
    sealed=_FERNET,
)
_GPT_5 = Family(
    "gpt 5",
    factor=0.97,
    doubt=_MEASURED,
    images=_pictures_by_tile(base=70, each=140),
    call_framing=10,
    result_framing=9,
    sealed=_FERNET,
)
_GPT_PATCHES = Family(
    "gpt 5.2",
    factor=0.97,
    doubt=_MEASURED,
    images=_pictures_by_patch,
    call_framing=10,
    result_framing=9,
    sealed=_FERNET,
)
_GEMINI = Family("gemini", factor=0.9, doubt=_MEASURED, images=_pictures_by_crop)
_OPEN = Family("open weights", factor=1.0, doubt=_MEASURED, images=_BY_AREA)
_OTHER = Family("other", factor=1.0, doubt=_UNKNOWN, images=_BY_AREA)

_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
"""Matches the version in the name of a Claude model: 4 in `claude-sonnet-4-20250514`."""
_NEW_TOKENIZER = (4, 7)
"""The first Claude version with the tokenizer that counts more tokens for the same text."""
_GPT_NAME = re.compile(r"gpt|codex|(?:^|/)o[1345](?:-|$)")
_GPT_VERSION = re.compile(r"gpt-(\d{1,2})(?:\.(\d{1,2}))?")
_OPEN_NAME = re.compile(r"deepseek|glm|kimi|moonshot")


@lru_cache(maxsize=64)
def family_of(model: str) -> Family:
    """Return the family of a model by its name."""
    name = model.lower()
    if "fable" in name or _read_version(_CLAUDE, name) >= _NEW_TOKENIZER:
        return _NEW_CLAUDE
    if "claude" in name:
        return _OLD_CLAUDE
    if _GPT_NAME.search(name):
        return _gpt(name)
    if "gemini" in name:
        return _GEMINI
    return _OPEN if _OPEN_NAME.search(name) else _OTHER


def _read_version(pattern: re.Pattern[str], name: str) -> tuple[int, int]:
    """Return (major, minor) of the version in a name; (0, 0) if there is none."""
    match = pattern.search(name)
    if match is None:
        return 0, 0
    major, minor = match.groups()
    return int(major), int(minor or 0)


def _gpt(name: str) -> Family:
    version = _read_version(_GPT_VERSION, name)
    if version >= (5, 2) or "mini" in name or "nano" in name:
        return _GPT_PATCHES
    return _GPT_5 if version >= (5, 0) else _GPT
