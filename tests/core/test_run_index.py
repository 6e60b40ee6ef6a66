"""Looking up many facts in a text by runs of words finds what a look at every one of them would."""

from hypothesis import given
from hypothesis import strategies as st

from inspector.core.facts.fact import Fact
from inspector.core.facts.run_index import RunIndex
from inspector.core.facts.wording import Echo
from inspector.core.findings.lost_rows import Verdicts, ranked

WORDS = st.sampled_from(["add", "keep", "old", "table", "row"])
RUNS = st.lists(WORDS, max_size=3).map(tuple)


@given(
    filed=st.lists(RUNS, max_size=80),
    removed=st.sets(st.integers(0, 79)),
    words=st.lists(WORDS, max_size=30),
)
def test_facts_when_many_are_filed_are_those_whose_run_the_text_has(
    filed: list[tuple[str, ...]], removed: set[int], words: list[str]
) -> None:
    index = RunIndex()
    for fact, run in enumerate(filed):
        index.add(run, fact)
    for fact in removed:
        if fact < len(filed):
            index.remove(filed[fact], fact)
    line = f" {' '.join(words)} "
    expected = {
        fact
        for fact, run in enumerate(filed)
        if fact not in removed and (not run or f" {' '.join(run)} " in line)
    }
    assert index.find(", ".join(words)) == expected


def test_long_number_when_it_is_part_of_a_word_is_found() -> None:
    index = RunIndex()
    index.add(("2734900785",), 7)
    assert index.find("see discussion_r2734900785") == {7}
    assert index.find("see discussion_r27349007851") == set()


@given(
    st.lists(
        st.lists(WORDS, min_size=1, max_size=9).map(" ".join), min_size=1, max_size=12, unique=True
    )
)
def test_wishes_when_one_holds_others_are_marked_as_a_comparison_of_all_would(
    texts: list[str],
) -> None:
    rows = ranked(
        {Fact("instruction", text): "m" for text in texts}, Verdicts(lambda _: Echo("gone"))
    )
    shown = [row.fact.text for row in rows]
    assert {row.fact.text for row in rows if row.is_repeat} == _find_repeats(shown)


def _find_repeats(texts: list[str]) -> set[str]:
    long_enough = [text for text in texts if len(text.split()) >= 4]
    repeats = set[str]()
    for whole in long_enough:
        parts = [part for part in long_enough if part != whole and f" {part} " in f" {whole} "]
        repeats.update([whole] if len(parts) > 1 else parts)
    return repeats
