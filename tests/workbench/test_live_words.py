"""Which tier is next and when, and the sentence that sums up a run."""

from inspector.agent.status import TurnReport
from inspector.core.policies.verdict import Watermark
from inspector.core.tokens.prediction import Prediction
from inspector.core.tokens.pressure import Pressure
from inspector.workbench.words.live_words import find_next_tier, summarise_run, usual_growth

LINES = (
    Watermark("60% L1, L2", 9_600, "mid_ratio", ("L1", "L2")),
    Watermark("75% L3", 12_000, "high_ratio", ("L3",), fires_on=True),
)


def report(
    turn: int, reported: int | None, predicted: int, fired: tuple[str, ...] = ()
) -> TurnReport:
    expected = Pressure(
        predicted, "predicted", predicted, None, Prediction(predicted, predicted, predicted)
    )
    return TurnReport(
        turn + 1, turn, "main", reported, 0, 0, expected, 10, 16_000, fired, (), "stop", ""
    )


def test_next_tier_when_lines_are_ahead_names_the_lowest_with_tokens_and_turns() -> None:
    found = find_next_tier(LINES, 8_000, growth=500)
    assert found is not None
    assert found.words == "next tier L1 and L2 at 60%: 1,600 tokens to go, about 4 turns"


def test_next_tier_when_a_line_is_reached_names_the_one_above() -> None:
    on_line = find_next_tier(LINES, 9_601)
    assert on_line is not None
    assert on_line.words == "next tier L3 at 75%: 2,399 tokens to go"
    assert find_next_tier(LINES, 12_000) is None


def test_usual_growth_when_a_compaction_lies_between_ignores_it() -> None:
    sizes = (1_000, 1_400, 2_000, 600, 1_100)
    reports = [report(n, size, size) for n, size in enumerate(sizes)]
    assert usual_growth(reports, "main") == 500
    assert usual_growth(reports, "sub-agent") == 0


def test_summary_of_a_run_when_a_call_failed_counts_only_reported_prompts() -> None:
    reports = [
        report(0, 1_000, 990),
        report(1, 8_000, 8_000, ("L0",)),
        report(2, None, 9_000),
        report(3, 2_000, 1_960, ("L0",)),
    ]
    assert summarise_run(reports) == (
        "3 answered calls: the fullest prompt had 8,000 tokens (50.0%); tiers ran: L0 2 times; "
        "prompts were predicted within 1.0% in the median; the last prompt had 2,000 tokens"
    )
    assert summarise_run([report(0, None, 5)]) == ""
