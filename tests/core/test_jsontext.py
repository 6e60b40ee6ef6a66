"""What JSON may become: nested so deep, numbers so large, and everything else a sentence."""

import json
import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.dialects import anthropic_usage, gemini, openai_chat, openai_responses
from inspector.core.jsontext import DEEPEST, WRAPPED, NotJson, dumps, is_deeper, loads
from inspector.core.usage import MOST, Usage, is_absurd

SHAPES = [
    (1, "[", "]"),
    (1, '{"a":', "}"),
    (3, '[{"a":[', "]}]"),
    (1, '["]",', "]"),
    (3, '{"a":[1,{"[":', '}],"b":1}'),
]
"""Levels, how they begin, how they end."""


def nested(levels: int, shape: tuple[int, str, str], inner: str = "1") -> bytes:
    each, begins, ends = shape
    return (begins * (levels // each) + inner + ends * (levels // each)).encode()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("odd", ["1", "NaN", '"\\ud800"'])
def test_nesting_is_bounded_whoever_parses(shape: tuple[int, str, str], odd: str) -> None:
    levels = 198  # a multiple of what each shape nests
    value = loads(nested(levels, shape, odd))
    repr(value)
    assert value == loads(nested(levels, shape, odd))
    for more in (204, 600, 1020, 1200, 60_000):
        with pytest.raises(NotJson, match="nested deeper than 200 levels"):
            loads(nested(more, shape, odd))


@pytest.mark.parametrize("levels", [1, 2, 199, 200, 201, 202, 250])
def test_the_bound_is_where_it_is_said_to_be(levels: int) -> None:
    for text in ("[" * levels + "]" * levels, '{"a":' * levels + "0" + "}" * levels):
        if levels > DEEPEST:
            with pytest.raises(NotJson):
                loads(text.encode())
        else:
            assert dumps(loads(text.encode())) == text
        assert dumps(loads(text.encode(), deepest=WRAPPED)) == text
        assert is_deeper(loads(text.encode(), deepest=WRAPPED), DEEPEST) == (levels > DEEPEST)


@given(
    st.recursive(
        st.integers(0, 9),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=2), inner),
    )
)
def test_depth_is_what_it_is(value: Any) -> None:
    def depth(one: Any) -> int:
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    for levels in (1, 2, 3, 5):
        assert is_deeper(value, levels) == (depth(value) > levels)


@given(
    st.integers(-(10**30), 10**30) | st.integers(-(1 << 65), 1 << 65),
    st.sampled_from(["", "NaN, "]),
)
def test_whole_numbers_have_64_bits_whoever_parses(number: int, odd: str) -> None:
    told = loads(f"[{odd}{number}]".encode())[-1]
    assert told == (number if -(1 << 63) <= number < 1 << 64 else float(number))
    assert type(told) is (int if -(1 << 63) <= number < 1 << 64 else float)


@pytest.mark.parametrize(
    "digits", ["1e309", "1e99999999", "1" + "0" * 309, "9" * 6000, "123456789" * 40 + ".5e10"]
)
@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_are_finite(digits: str, sign: str) -> None:
    told: list[str] = []
    value = loads(f'{{"a": {sign}{digits}, "b": [{sign}{digits}]}}'.encode(), told)["a"]
    assert value == math.copysign(sys.float_info.max, -1 if sign else 1)
    assert told == ["a number is too large; it was read as the largest possible number"]
    assert loads(f"[{sign}{digits}]".encode()) == [value]


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_null(word: str) -> None:
    told: list[str] = []
    assert loads(f"[{word}, 1]".encode(), told) == [None, 1]
    assert told == [f"{word} is no number in JSON; it was read as null"]


ABSURD = st.sampled_from([MOST + 1, -MOST - 1, 1 << 63, 1e13, 1e300, -1e300])
WHERE = st.sampled_from(["usage", "inside", "listed"])


@given(ABSURD, WHERE)
def test_absurd_counts_are_found_wherever_they_stand(number: float, where: str) -> None:
    usage: dict[str, Any] = {"input_tokens": MOST, "output_tokens": 1, "service_tier": "x"}
    assert not is_absurd(usage)
    inner = {"usage": number, "inside": {"n": number}, "listed": [{"n": {"m": number}}]}
    assert is_absurd(usage | {"more": inner[where]})


def test_a_call_that_tells_absurd_counts_has_told_none() -> None:
    wires = [
        (anthropic_usage.read_anthropic_usage, "input_tokens"),
        (openai_chat.read_chat_usage, "prompt_tokens"),
        (openai_responses.read_responses_usage, "input_tokens"),
        (gemini.read_gemini_usage, "promptTokenCount"),
    ]
    for read, name in wires:
        assert read({name: MOST}) == Usage(input=MOST)
        assert read({name: MOST + 1}) is None
        assert read({name: 7, "other": json.loads("1e300")}) is None
