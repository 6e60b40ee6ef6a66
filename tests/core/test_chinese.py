"""Chinese and English, as developers type them: what is an instruction, a rule, a decision, an error; what says a rule
again. The sentences of tests/data/chinese and tests/data/english are our own, labelled by
hand before any rule saw them.

pasted.txt holds whole messages between lines of %%: what the user demands himself is marked (i, c) before a tab.

Columns: sample (`held`, `last`: no rule was ever tuned on it; `fresh`: written when the rules stood, and looked at
afterwards), then who says it, what it is and the text; or how a rule stands in a text.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.core.facts.reading import facts
from inspector.core.facts.wording import Saying, Speech
from inspector.core.message import Message, Role, Text, ToolResult

ENGLISH = Path(__file__).parent.parent / "data" / "english"
DATA = ENGLISH.parent / "chinese"
WHO: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}


def lines(name: str, folder: Path = DATA) -> Iterator[list[str]]:
    for line in (folder / name).read_text("utf-8").splitlines():
        yield line.replace("\\n", "\n").split("\t")


@pytest.mark.parametrize(
    ("folder", "samples"),
    [
        (DATA, ("held",)),
        (DATA, ("tuning", "held", "fresh", "last")),
        (ENGLISH, ("tuning", "fresh")),
    ],
    ids=["chinese, held", "chinese", "english"],
)
def test_what_is_found_is_that_and_most_of_it_is_found(
    folder: Path, samples: tuple[str, ...]
) -> None:
    leasts = {"instruction": 0.9, "constraint": 0.9, "decision": 0.9, "error": 0.85}
    for kind, least in list(leasts.items())[: None if folder == DATA else 2]:
        right = found = there = 0
        for sample, who, label, text in lines("facts.tsv", folder):
            if sample in samples:
                part = ToolResult("c", text) if who == "tool" else Text(text)
                told = kind in {fact.kind for fact in facts(Message("m", WHO[who], (part,)))}
                found, there, right = (
                    found + told,
                    there + (label == kind),
                    right + (told and label == kind),
                )
        assert there >= 8
        assert right >= 0.9 * found, (samples, right, found)
        assert right >= least * there, (samples, right, there)


@pytest.mark.parametrize("folder", [DATA, ENGLISH], ids=["chinese", "english"])
def test_what_was_pasted_is_not_demanded_by_the_user(folder: Path) -> None:
    right = found = there = 0
    for block in (folder / "pasted.txt").read_text("utf-8").split("%%\n"):
        mine, lines = [], []
        for line in block.strip("\n").split("\n"):
            mark, _, said = line.rpartition("\t")
            lines.append(said)
            mine += [said] if mark else []
        demands = [
            fact.text
            for fact in facts(Message("m", "user", (Text("\n".join(lines)),)))
            if fact.kind in ("instruction", "constraint")
        ]
        right += sum(any(demand in said for said in mine) for demand in demands)
        found += len(demands)
        there += len(mine)
    assert right >= 0.95 * found > 0, (right, found)
    assert right >= 0.85 * there, (right, there)


def test_how_a_rule_stands_in_what_a_summary_says() -> None:
    seen = Counter[tuple[str, str]]()
    for _, label, rule, said in lines("retold.tsv"):
        saying, summary = Saying(rule), Message("s", "user", (Text(said),), summary=True)
        nearly = Speech().paraphrase(saying, summary) is not None
        seen[label, "verbatim" if saying.is_in(said) else "paraphrased" if nearly else "gone"] += 1
    wrong = Counter({pair: count for pair, count in seen.items() if pair[0] != pair[1]})
    assert seen.total() >= 50
    assert set(wrong) <= {("paraphrased", "gone")}  # a paraphrase may be missed, none is claimed
    assert wrong.total() <= 3
