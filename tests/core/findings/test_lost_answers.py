"""What is done with what was lost: given back as text, judged by a model, and what a summary made up."""

import pytest

from inspector.cli.main import main
from inspector.core.answering import Scripted
from inspector.core.errors import InspectorError
from inspector.core.facts.fact import Fact
from inspector.core.findings.give_back import give_back_text, open_and_gone
from inspector.core.findings.inventions import inventions
from inspector.core.findings.judging import judged, question, unsure_rows
from inspector.core.findings.lost_rows import LostRow
from inspector.core.message import Message, Text
from inspector.core.needs import Answer
from inspector.resources import resource
from tests.core.policies.build import assistant, user

RULE = LostRow(Fact("constraint", "Never push to main."), "u1", "gone")
PERHAPS = LostRow(
    Fact("instruction", "Write the rates per day."), "u2", "unsure", nearest="Rates are written."
)
DONE = LostRow(Fact("instruction", "Commit it."), "u3", "done")
CAME = "The user wants the rates stored per day. Work goes on."


def test_give_back_text_groups_what_is_open_and_leaves_out_what_is_done() -> None:
    text = give_back_text(open_and_gone([RULE, PERHAPS, DONE]))
    assert text.split("\n") == [
        "The conversation was compacted. This was lost and still counts:",
        "",
        "Rules that still hold:",
        "- Never push to main.",
        "",
        "What I asked for and what is still open:",
        "- Write the rates per day.",
    ]
    assert give_back_text(()) == ""


def test_judged_row_is_carried_only_with_words_that_the_summary_has() -> None:
    assert unsure_rows([RULE, PERHAPS, DONE]) == (PERHAPS,)
    assert "1. Write the rates per day." in question([PERHAPS], CAME).text
    said = 'Here: [{"row": 1, "verdict": "carried", "evidence": "rates stored per day"}]'
    rows = judged([RULE, PERHAPS], CAME, Scripted([Answer(text=said)]))
    assert [(row.verdict, row.nearest) for row in rows] == [
        ("gone", ""),
        ("carried", "rates stored per day"),
    ]
    made_up = '[{"row": 1, "verdict": "carried", "evidence": "rates in a table of cents"}]'
    assert judged([PERHAPS], CAME, Scripted([Answer(text=made_up)])) == (PERHAPS,)


@pytest.mark.parametrize(
    "text", ["", "I cannot say.", "[1, 2]", '[{"row": "x", "verdict": "gone"}]', "[" * 5_000 + "]"]
)
def test_judged_rows_when_the_answer_holds_no_verdict_end_in_a_sentence(text: str) -> None:
    with pytest.raises(InspectorError, match="holds no verdicts"):
        judged([PERHAPS], CAME, Scripted([Answer(text=text)]))


def test_judge_option_when_simulated_is_free_and_leaves_fewer_rows_not_sure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lost", str(resource("sample.jsonl")), "--judge", "simulated", "--all"]) == 0
    out, err = capsys.readouterr()
    assert "asking the simulated provider about 6 rows: free" in err
    assert 0 < out.count("not sure  ") < 6


def test_give_back_option_prints_chosen_rows_and_refuses_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sample = str(resource("sample.jsonl"))
    assert main(["lost", sample, "--give-back", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("- ")
    assert main(["lost", sample, "--give-back", "99"]) == 1
    assert "--give-back takes rows from 1 to" in capsys.readouterr().err


def test_inventions_are_names_that_nothing_before_holds_with_the_nearest_source() -> None:
    before = [
        user("The importer needs ledger-core version 3.2.17 for the rates."),
        assistant("I read src/rates.py."),
    ]
    told = "The importer needs ledger-core version 3.1.17 for the rates. It is in src/rates.py, see load_rate_table."
    found = inventions(Message("s", "user", (Text(told),), summary=True), before)
    assert [(one.fact.text, one.is_changed) for one in found] == [
        ("3.1.17", True),
        ("load_rate_table", False),
    ]
    assert found[0].nearest == "The importer needs ledger-core version 3.2.17 for the rates."


def test_tool_that_was_called_before_is_no_invention_of_a_summary() -> None:
    summary = Message(
        "s", "user", (Text("The answers of AskUserQuestion are in it."),), summary=True
    )
    call = assistant("", ("c1", "AskUserQuestion", {"questions": "Which one?"}))
    assert [one.fact.text for one in inventions(summary, [user("Go on.")])] == ["AskUserQuestion"]
    assert inventions(summary, [user("Go on."), call]) == ()
