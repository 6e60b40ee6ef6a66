"""Have a model judge the lost facts whose verdict is unsure: what that costs, and the page with the verdicts."""

from collections.abc import Callable
from dataclasses import replace

from inspector.core.answering import Answerer
from inspector.core.errors import InspectorError
from inspector.core.findings.judging import JudgingPrice, judged, price_judging, text_after
from inspector.core.session import Session
from inspector.core.tokens.prices import sum_prices
from inspector.core.tokens.windows import model_at
from inspector.workbench.loss_page import LossPage, build_loss_page
from inspector.workbench.state import Bench, State
from inspector.workbench.stepping import HAND

NO_MODEL = "Choose “Provider” under Tiers first: model calls are answered without a model now."


class LossJudging:
    """Asks the model chosen under Tiers about the unsure rows of a page."""

    def __init__(self, bench: Bench, answerers: Callable[[str, State], Answerer]) -> None:
        """Prepare to ask about pages.

        Args:
            bench: The Workbench.
            answerers: Returns the answerer with a given name.
        """
        self._bench = bench
        self._answerers = answerers

    @property
    def has_model(self) -> bool:
        """Has the user chosen a model, not the offline summariser or manual answers?"""
        return self._bench.state.choices.answer_by not in ("offline", HAND)

    def price(self, page: LossPage) -> JudgingPrice:
        """Return the maximum cost of asking about the page. O(text of the rows and summaries)."""
        state = self._bench.state
        thread = page.thread
        model = state.choices.model or model_at(thread, state.at)
        after = [(loss.rows, text_after(thread, loss.before_request)) for loss in page.losses]
        prices = [price_judging(rows, replacement, model) for rows, replacement in after]
        questions = [price for price in prices if price.rows]
        rows = sum(price.rows for price in questions)
        tokens = sum(price.tokens for price in questions)
        return JudgingPrice(
            rows, tokens, usd=sum_prices(price.usd for price in questions), model=model
        )

    def judge(self, session: Session, page: LossPage, done: Callable[[LossPage], None]) -> None:
        """Ask in the background, then call `done` with the judged page. A failure is reported in the State."""
        if not self.has_model:
            self._bench.failed(NO_MODEL)
            return
        state = self._bench.state

        def answered(result: LossPage | InspectorError) -> None:
            if isinstance(result, InspectorError):
                self._bench.failed(str(result))
            else:
                done(result)

        def ask() -> LossPage | InspectorError:
            try:
                return judge_page(session, page, self._answerers(state.choices.answer_by, state))
            except InspectorError as failure:
                return failure

        self._bench.work(ask, answered, waits=True)


def judge_page(session: Session, page: LossPage, answer: Answerer) -> LossPage:
    """Return the page with a model's verdicts on its unsure rows: one question per compaction.

    Raises:
        InspectorError: The model did not answer, or its answer holds no verdict.
    """
    losses = []
    for loss in page.losses:
        replacement = text_after(page.thread, loss.before_request)
        losses.append(replace(loss, rows=judged(loss.rows, replacement, answer)))
    return build_loss_page(session, page.thread, losses)
