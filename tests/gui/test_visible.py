"""Hidden characters are spelt out, long lines broken, and both lead back to the original."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.cli.output import exact
from inspector.gui.look.visible import BREAK, LONG_LINE, line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, 中文, かな, 한글", "plain, 中文, かな, 한글"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\x1b[31mred\x00", "⟨ESC⟩[31mred⟨NUL⟩"),
        ("\x00" * 12, "⟨NUL ×12⟩"),
        ("a\r\nb\rc", "a⟨CR⟩\nb⟨CR⟩\nc"),
        ("a\u2028b\u2029c", "a⟨U+2028⟩\nb⟨U+2029⟩\nc"),
        ("zero\u200bwidth \u200dx", "zero⟨U+200B⟩width ⟨U+200D⟩x"),
        ("👨‍👩‍👧 👍🏽 ❤️‍🔥 1️⃣", "👨‍👩‍👧 👍🏽 ❤️‍🔥 1️⃣"),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", None),
        ("hi\U000e0041\U000e0042", "hi⟨U+E0041⟩⟨U+E0042⟩"),
        ("x\ufe0f\ufe0e", "x\ufe0f⟨U+FE0E⟩"),
        ("葛\U000e0100", "葛\U000e0100"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("\ufeffa\ufffcb\ufdd0", "⟨U+FEFF⟩a⟨U+FFFC⟩b⟨U+FDD0⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("tab\tline\n", "tab\tline\n"),
    ],
)
def test_what_hides_is_spelt_out(text: str, shown: str | None) -> None:
    found = visible(text)
    assert found.text == (text if shown is None else shown)
    assert found.origin(0, len(found.text)) == text


def test_long_lines_are_broken_for_display_only() -> None:
    text = "short\n" + "x" * 50_000 + "\n" + "y" * LONG_LINE
    shown = visible(text)
    assert max(map(len, shown.text.split("\n"))) <= LONG_LINE
    assert shown.text.endswith("\n" + "y" * LONG_LINE)
    assert shown.origin(0, len(shown.text)) == text


def test_a_break_never_splits_a_family_of_emoji() -> None:
    shown = visible("x" * (BREAK - 1) + "👨‍👩‍👧" * 4_000)
    parts = [part.removesuffix("↩") for part in shown.text.split("\n")]
    assert len(parts) > 5
    assert all("\u200d" not in (part[0], part[-1]) for part in parts)


_HIDDEN_OR_NOT = st.sampled_from(
    ["a", "中", "\u202e", "\u200d", "👨", "\r", "\n", "\x00", "\u2028", "\ufe0f", "\U000e0041"]
)


@given(st.lists(_HIDDEN_OR_NOT, max_size=60).map("".join) | st.text(), st.integers(0, 4), st.data())
def test_any_selection_leads_back(text: str, longer: int, data: st.DataObject) -> None:
    text += "z" * 9_000 * longer
    shown = visible(text)
    end = len(shown.text)
    assert shown.origin(0, end) == text
    middle = data.draw(st.integers(0, end))
    before, after = shown.origin(0, middle), shown.origin(middle, end)
    assert text.startswith(before)
    assert text.endswith(after)
    assert len(before) + len(after) >= len(text)


def test_a_line_for_a_list() -> None:
    assert line("  two\n lines \x00 ") == "two lines ⟨NUL⟩"
    assert line("x" * 300, 10) == "x" * 10 + "…"


def test_to_be_judged_nothing_looks_like_a_blank_or_like_nothing() -> None:
    """Neither here nor on the terminal; format characters that have a sign of their own may stand."""
    signs = " \t\n\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    hidden = [
        one for one in map(chr, range(sys.maxunicode + 1)) if exact(one) != one and one not in signs
    ]
    seen = visible(
        "\0".join(one for one in hidden if unicodedata.category(one) != "Cn"), strict=True
    ).text
    assert not [one for one in set(seen) - {"\n"} if exact(one) != one]
    assert visible("ls\ufe0f 👨\u200d👩", strict=True).text == "ls⟨U+FE0F⟩ 👨⟨U+200D⟩👩"
    assert visible("rm\u00a0-rf \u3000x", strict=True).text == "rm⟨U+00A0⟩-rf ⟨U+3000⟩x"
