"""JSON is laid out without changing a token; lines are coloured by rules."""

import json

from hypothesis import given
from hypothesis import strategies as st

from inspector.gui.widgets.pieces import looks_like_diff, pretty, spans

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=30,
)


def laid_out(text: str) -> str:
    lines = pretty(text)
    assert lines is not None
    return "".join(lines)


@given(st.lists(_VALUES) | st.dictionaries(st.text(), _VALUES), st.booleans())
def test_the_value_stays_the_same(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert json.loads(laid_out(text)) == value


def test_tokens_stay_as_they_were_written() -> None:
    text = '{"n":123456789012345678901234567890,"n":1.50e1,"u":"\\u4e2d\\/"}'
    shown = laid_out(text)
    assert shown.replace("\n", "").replace(" ", "") == text
    assert (
        shown == '{\n  "n": 123456789012345678901234567890,\n  "n": 1.50e1,\n  "u": "\\u4e2d\\/"\n}'
    )


def test_short_plain_lists_stay_on_a_line() -> None:
    assert laid_out('{"a":[1,2,"b, c"],"b":{},"c":[[]]}') == (
        '{\n  "a": [1, 2, "b, c"],\n  "b": {},\n  "c": [\n    []\n  ]\n}'
    )


def test_what_is_no_json_object_or_list_is_left_alone() -> None:
    for text in ("", "12", '"text"', "{broken", "[1,", "plain", "[" * 100_000):
        assert pretty(text) is None


def test_deep_nesting_does_not_grow_quadratically() -> None:
    text = '{"a":' * 190 + "1" + "}" * 190  # nearly as deep as a value may be
    assert len(laid_out(text)) < 200 * len(text)


def test_json_lines_are_coloured() -> None:
    line = '  "key": "va\\"lue", 12.5, null'
    assert [(line[s.start : s.end], s.kind) for s in spans(line, "json")] == [
        ('"key"', "key"),
        ('"va\\"lue"', "string"),
        ("12.5", "number"),
        ("null", "word"),
    ]


def test_diffs_are_known_by_their_hunks() -> None:
    assert looks_like_diff("diff --git a/x b/x\n")
    assert looks_like_diff("--- a\n+++ b\n@@ -1,2 +1,3 @@ def f\n-x\n+y")
    assert not looks_like_diff("- a list\n+ another\n@@ not one")
    assert [
        [s.kind for s in spans(text, "diff")] for text in ("+a", "-b", " c", "@@ -1 +1 @@")
    ] == [
        ["added"],
        ["removed"],
        [],
        ["place"],
    ]
