"""Rows that are not sure, judged by the model that is chosen: the price before, verdicts with evidence, failures."""

from dataclasses import replace

from inspector.core.answering import Answerer
from inspector.core.needs import Answer, Need, Summarize
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from inspector.workbench.loss_judging import NO_MODEL
from inspector.workbench.loss_page import LossPage, build_loss_page
from inspector.workbench.state import State
from inspector.workbench.workbench import Workbench


def judge_first_row_gone(need: Need) -> Answer:
    assert isinstance(need, Summarize)
    assert "1. " in need.text
    return Answer(text='[{"row": 1, "verdict": "gone", "evidence": ""}]')


def test_judging_when_a_model_is_chosen_prices_the_questions_and_changes_only_what_was_not_sure() -> (
    None
):
    asked: list[str] = []

    def open_answerer(who: str, state: State) -> Answerer:
        asked.append(who)
        return judge_first_row_gone

    bench = Workbench(answerers=open_answerer)
    session = open_transcript(resource("sample.jsonl"))
    bench.open(session)
    page = build_loss_page(session, session.main)
    results: list[LossPage] = []
    bench.loss_judging.judge(session, page, results.append)
    assert bench.state.failure == NO_MODEL
    assert not results
    bench.show(replace(bench.state, choices=replace(bench.state.choices, answer_by="anthropic")))
    price = bench.loss_judging.price(page)
    unsure = sum(loss.count("unsure") for loss in page.losses)
    assert (price.rows, price.tokens > 500, price.usd is not None) == (unsure, True, True)
    bench.loss_judging.judge(session, page, results.append)
    assert asked == ["anthropic"]
    (judged,) = results
    assert [loss.count("unsure") for loss in judged.losses] == [unsure - 1]
    assert [loss.count("carried", "done") for loss in judged.losses] == [
        loss.count("carried", "done") for loss in page.losses
    ]
