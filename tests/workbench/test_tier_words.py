"""Why a tier is due or not, what it would do, and what is due, in sentences."""

import pytest

from inspector.core.policies.catalogue import POLICIES
from inspector.workbench.previews import Previews
from inspector.workbench.words.tier_words import (
    badge_words,
    due_words,
    effect_words,
    shown_words,
    verdict_words,
)
from inspector.workbench.workbench import Workbench
from tests.gui.made import session


@pytest.fixture
def bench() -> Workbench:
    made = Workbench()
    made.open(session())
    made.stepping.choose(policy="roku")
    made.move(10)
    return made


def previews_of(bench: Workbench) -> Previews:
    bench.previews.look()
    previews = bench.state.previews
    assert previews is not None
    assert previews.is_complete
    return previews


def why(previews: Previews, tier: str, at: int = 0) -> str:
    """The words of the row; `at`: 0 for all of them, later ones for the shorter forms."""
    verdict = next(verdict for verdict in previews.verdicts if verdict.tier == tier)
    return verdict_words(previews, verdict, 200_000)[at]


def test_verdict_of_a_tier_below_its_line_says_how_far(bench: Workbench) -> None:
    previews = previews_of(bench)
    to_go = 150_001 - previews.tokens
    assert why(previews, "L3b") == f"{to_go:,} tokens below 150,000 (75%)."
    assert why(previews, "L3b", at=1) == f"{to_go:,} below 150,000 (75%)."
    assert (
        why(previews, "L3a")
        == f"{to_go:,} tokens below 150,000 (75%). This provider cannot compact remotely."
    )


def test_verdict_of_a_tier_over_its_line_says_so_and_what_runs_instead(bench: Workbench) -> None:
    bench.stepping.set("mid_water_trigger_ratio", "0.3")
    previews = previews_of(bench)
    assert why(previews, "L2").startswith(
        f"{previews.tokens:,} is over 60,000 (30%). No session memory: L1 runs."
    )
    assert why(previews, "L1", at=1).startswith(f"{previews.tokens:,} > 60,000 (30%).")
    assert why(previews, "L2", at=-1) == "No session memory: L1 runs."


def test_verdict_without_a_line_is_a_sentence(bench: Workbench) -> None:
    assert why(previews_of(bench), "L4") == "Only after the model refuses the buffer."
    assert why(previews_of(bench), "L0").endswith(" old tool results can be cleared.")


def test_verdict_of_a_due_tier_that_would_not_fire_after_the_first_says_so() -> None:
    """L0 frees so much that L1, which is due as well, is due no more."""
    bench = Workbench()
    bench.open(session())
    bench.move(10)
    previews = previews_of(bench)
    freed = previews.by_tier["L0"].freed
    assert freed > 0
    limit = (previews.tokens - 1) / 200_000
    bench.stepping.set("mid_water_trigger_ratio", f"{limit:.6f}")
    previews = previews_of(bench)
    assert previews.due == ("L0", "L1")
    assert previews.due_run == ("L0",)
    assert why(previews, "L1").endswith("Not due after L0.")
    assert due_words(previews) == "L0 and L1 are due; only L0 will run."
    assert badge_words(previews, "L0") == "Runs first"
    assert badge_words(previews, "L1") == "Due"
    assert badge_words(previews, "L2") == "Over, not due", "no memory is recorded"
    assert badge_words(previews, "L3b") == "Not due"


def test_effect_of_a_tier_says_what_it_frees_and_calls(bench: Workbench) -> None:
    previews = previews_of(bench)
    mechanical, model = previews.by_tier["L1"], previews.by_tier["L3b"]
    assert effect_words(mechanical)[0] == f"Frees about {mechanical.freed:,} tokens. No model call."
    assert effect_words(mechanical)[-1] == f"Frees about {mechanical.freed:,} tokens."
    assert effect_words(model)[0].startswith(
        f"Frees about {model.freed:,} tokens. 1 model call, about $"
    )
    assert effect_words(previews.by_tier["L2"])[0].startswith("Would run as L1: frees about ")
    assert effect_words(previews.by_tier["L2"])[-1].startswith("As L1: frees about ")
    lengths = [len(words) for words in effect_words(model)]
    assert lengths == sorted(lengths, reverse=True)
    assert effect_words(None) == ("…",)


def test_status_when_nothing_is_due_names_the_nearest_line(bench: Workbench) -> None:
    bench.stepping.set("microcompact_retain_recent", "50")
    previews = previews_of(bench)
    to_go = 120_001 - previews.tokens
    assert shown_words(bench.state) == f"No tier is due: L1 and L2 in {to_go:,} tokens."


def test_status_after_a_step_says_what_it_did(bench: Workbench) -> None:
    bench.stepping.step("L0")
    assert shown_words(bench.state).startswith("L0: ")
    assert shown_words(bench.state).endswith(" messages cleared.")


def test_status_while_a_tier_waits_says_where(bench: Workbench) -> None:
    bench.stepping.choose(answer_by="hand")
    bench.stepping.step("L3b")
    assert shown_words(bench.state) == "L3b waits for an answer: see Model calls."


@pytest.mark.parametrize("name", POLICIES)
def test_words_of_every_tier_of_every_policy_are_sentences(name: str) -> None:
    for requests in (3, 10):
        bench = Workbench()
        bench.open(session())
        bench.stepping.choose(policy=name)
        bench.move(requests)
        previews = previews_of(bench)
        for verdict in previews.verdicts:
            assert all(
                words.endswith((".", "!", "?"))
                for words in verdict_words(previews, verdict, 200_000)
            )
            assert all(
                words.endswith(".") for words in effect_words(previews.by_tier[verdict.tier])
            )
        assert due_words(previews).endswith(".")
