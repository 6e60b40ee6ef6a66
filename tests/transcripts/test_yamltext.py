"""YAML as programs write it: every style of text, lists at their parent's indentation, anchors, bounds."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.transcripts.yamltext import NotYaml, parse_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("- 1\n- -2.5\n- 1e3\n- 0x1F\n- 12345678901234567890\n", [1, -2.5, "1e3", 31, "12345678901234567890"]),
        ("- true\n- No\n- null\n- ~\n-\n- 'yes'\n", [True, False, None, None, None, "yes"]),
        ("a: 2025-01-01\nb: http://x.y/z?q=1#f # said\n", {"a": "2025-01-01", "b": "http://x.y/z?q=1#f"}),
        ("---\n# said\na:\n- 1\n- b: 2\n  c: 3\n-   - x\n    - y\n...\n", {"a": [1, {"b": 2, "c": 3}, ["x", "y"]]}),
        ("- - - deep\n- a:\n    b: c\n- |\n  text\n", [[["deep"]], {"a": {"b": "c"}}, "text\n"]),
        ("a: one\n  two\n\n  three\nb: x\n", {"a": "one two\nthree", "b": "x"}),
        ("a: 'it''s\n  one\n\n  line'\n", {"a": "it's one\nline"}),
        ('a: "x\\ty \\u00e9 \\\n  \\  z\n\n  w\\"\\\\"\n', {"a": 'x\ty é   z\nw"\\'}),
        ('a: "\\U0001F600"\nb: .inf\n', {"a": "😀", "b": ".inf"}),
        ("a: |\n  x\n   y\n\n  z\n\nb: |-\n  x\n\nc: |+\n  x\n\n", {"a": "x\n y\n\nz\n", "b": "x", "c": "x\n\n"}),
        ("a: |2\n    x\n  y\n", {"a": "  x\ny\n"}),
        ("a: >\n  one\n  two\n\n  three\n    in\n  four\n", {"a": "one two\nthree\n  in\nfour\n"}),
        ("a: !!binary |\n  AAEC\n  Aw==\nb: !ruby/object:X\n  c: d\n", {"a": b"\0\1\2\3", "b": {"c": "d"}}),
        ("a: &x\n- 1\nb: *x\nc: &y word\nd: *y\n", {"a": [1], "b": [1], "c": "word", "d": "word"}),
        ("- []\n- {}\n- [x, 'y, z', [1]]\n- {k: v,\n  l: [2]}\n", [[], {}, ["x", "y, z", [1]], {"k": "v", "l": [2]}]),
        ('"a b": 1\n\'c\': 2\n:d: 3\ne:f: 4\n', {"a b": 1, "c": 2, ":d": 3, "e:f": 4}),
        ("a: 1\r\nb:\r\n- 中文\r\n", {"a": 1, "b": ["中文"]}),
        ("", None),
    ],
)  # fmt: skip
def test_values(text: str, value: Any) -> None:
    assert parse_yaml(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        "a: [1",
        "a: 'x",
        "a: *none",
        "a: |x\n  y",
        "a: 1\n  - b: 2\n c",
        "a: [*x]",
        "a: !!binary ü",
        "a: b\nwords\n",
    ],
)
def test_what_is_not_understood_is_said(text: str) -> None:
    with pytest.raises(NotYaml):
        parse_yaml(text.encode())


def test_bounds() -> None:
    """Neither depth nor aliases that repeat aliases fill the memory."""
    deep = "".join(" " * n + "a:\n" for n in range(3_000))
    laughs = "a0: &a0 [x, y]\n" + "".join(
        f"a{n}: &a{n}\n" + f"- *a{n - 1}\n" * 10 for n in range(1, 12)
    )
    levels = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n}\n- *a{n - 1}\n" for n in range(1, 300))
    for text in (deep, laughs, levels, "[" * 5_000, "- " * 5_000):
        with pytest.raises(NotYaml):
            parse_yaml(text.encode())


@given(st.binary(max_size=200) | st.text("-:|>[]{}'\"&*! \n#ab\\", max_size=80).map(str.encode))
def test_anything_is_a_value_or_refused(data: bytes) -> None:
    with suppress(NotYaml):
        parse_yaml(data)
