"""What the recording did, as the first branch: beside it what a policy makes of the same buffer, with their figures."""

import json
from dataclasses import replace

import pytest

from inspector.core.buffer import Prompt
from inspector.core.session import Session
from inspector.core.tokens.change_sizes import compaction_sizes
from inspector.core.usage import Usage
from inspector.gui.panels.diff.bar import diff_headline
from inspector.workbench.diff import compare_sides, sides
from inspector.workbench.policy_input import sizer_of, start_of, step_rows_of
from inspector.workbench.pressure.gauge import reading
from inspector.workbench.pressure.timeline import step_effects
from inspector.workbench.regression import pytest_text
from inspector.workbench.steps import ORIGIN, RECORDED, Steps
from inspector.workbench.steps_file import StepsSource, replay_steps, starts_before, write_steps
from inspector.workbench.workbench import Workbench
from tests.core.sessions import compacted
from tests.gui.test_drops import session as dropped


@pytest.fixture
def bench() -> Workbench:
    """At a recorded compaction: four requests before it, three after it."""
    made = Workbench()
    made.open(
        Session("test", (compacted(before=4, after=3, kept=2, swallowed=2),), path="made.jsonl")
    )
    made.first()
    made.next_compaction()
    return made


def steps_of(bench: Workbench) -> Steps:
    assert bench.state.steps is not None
    return bench.state.steps


def shown(bench: Workbench) -> int:
    found = reading(bench.state)
    assert found is not None
    assert found.pressure.tokens is not None
    return found.pressure.tokens


def usage(bench: Workbench, at: int) -> int:
    assert bench.state.thread is not None
    found = bench.state.thread.requests[at].usage
    assert isinstance(found, Usage)
    return found.prompt


def test_it_is_there_at_once_and_takes_no_step(bench: Workbench) -> None:
    state, steps = bench.state, steps_of(bench)
    assert (state.at, state.trees, state.stepped) == (4, {}, False)
    assert steps.step is not None
    assert (steps.step.name, steps.own) == ("as recorded: auto compaction", 0)
    chosen = sides(state)
    assert chosen is not None
    assert chosen.after.messages == state.recorded().messages
    found = compare_sides(chosen)
    assert (found.counts["inserted"], found.counts["kept"]) == (2, 3)
    assert found.sides.whole is not None
    before, after = found.sides.whole
    assert after == shown(bench) == usage(bench, 4)
    assert found.delta + found.rest + found.anew == after - before
    rows = step_rows_of(state)
    assert [(row.tokens, row.before) for row in rows] == [(before, None), (after, before)]
    bench.move(3)
    assert bench.state.steps is None
    assert sides(bench.state) is None


def test_each_side_of_its_diff_has_the_numbers_of_its_own_buffer(bench: Workbench) -> None:
    """What lies beside the rows is another part before and after; a row weighs the same in both."""
    state = bench.state
    chosen = sides(state)
    assert chosen is not None
    found, now = compare_sides(chosen), sizer_of(state)
    bench.stepping.go(ORIGIN)
    was = sizer_of(bench.state)
    assert was.scale.slope == now.scale.slope
    for row in found.rows:
        assert row.tokens_before == (was.row(row.fate.before) if row.fate.before else 0)
        assert row.tokens_after == (now.row(row.fate.after) if row.fate.after else 0)
    assert found.rest == now.scale.unseen - was.scale.unseen
    assert found.prompt == 0


def test_another_system_prompt_is_no_part_of_what_was_kept() -> None:
    made = compacted(before=4, after=3, kept=2, swallowed=2)
    longer = Prompt("You are an agent with many rules. " * 60, ())
    requests = [*made.requests[:4], *(replace(one, prompt=longer) for one in made.requests[4:])]
    bench = Workbench()
    bench.open(
        Session("test", (replace(made, requests=requests, prompt=longer),), path="made.jsonl")
    )
    bench.first()
    bench.next_compaction()
    chosen = sides(bench.state)
    assert chosen is not None
    assert chosen.whole is not None
    found = compare_sides(chosen)
    assert found.prompt > 300
    assert f"+{found.prompt:,} in system prompt and tools" in diff_headline(found)
    assert found.delta + found.rest + found.prompt + found.anew == chosen.whole[1] - chosen.whole[0]


def test_size_before_in_the_diff_where_it_is_predicted_is_that_of_the_lists(
    bench: Workbench,
) -> None:
    thread, pressures, chosen = bench.state.thread, bench.state.pressures, sides(bench.state)
    assert thread is not None
    assert pressures is not None
    assert chosen is not None
    sizes = compaction_sizes(thread, pressures, thread.compactions[0])
    assert (chosen.whole, chosen.sizer.pressure.kind) == (sizes.tokens, "predicted")
    assert f": about {sizes.before.tokens:,} → {sizes.after.tokens:,} tokens" in diff_headline(
        compare_sides(chosen)
    )


@pytest.mark.parametrize(
    "policy", ["roku", "pulse", "pi", "learn-claude-code", "codex", "opencode", "gemini", "none"]
)
def test_it_is_there_under_every_policy_and_from_the_buffer_before_each_steps(
    bench: Workbench, policy: str
) -> None:
    bench.stepping.choose(policy=policy)
    before = next(row.tokens for row in step_rows_of(bench.state))
    bench.stepping.go(ORIGIN)
    assert (shown(bench), bench.state.stepped) == (before, True)
    bench.previews.look()
    assert bench.state.previews is not None
    assert bench.state.previews.shown_tokens == before
    for tier in [one.name for one in bench.state.previews.policy.tiers]:
        bench.stepping.go(ORIGIN)
        bench.stepping.step(tier)
        steps = steps_of(bench)
        assert steps.taken[-1].parent == ORIGIN
        assert step_rows_of(bench.state)[-1].tokens == shown(bench)


def test_a_policys_own_compaction_beside_it(bench: Workbench) -> None:
    bench.stepping.go(ORIGIN)
    bench.stepping.step("L3b")
    steps = steps_of(bench)
    assert [step.parent for step in steps.taken] == [ORIGIN, ORIGIN]
    own = shown(bench)
    bench.stepping.compare(RECORDED)
    chosen = sides(bench.state)
    assert chosen is not None
    assert chosen.whole == (usage(bench, 4), own)
    found = compare_sides(chosen)
    assert found.delta + found.rest + found.anew == own - usage(bench, 4)
    bench.stepping.go(RECORDED)
    assert (shown(bench), bench.state.stepped, steps_of(bench).own) == (usage(bench, 4), False, 1)
    assert step_effects(bench.state) == ()
    bench.stepping.step("L0")
    assert steps_of(bench).taken[-1].parent == RECORDED
    assert [effect.before for effect in step_effects(bench.state)] == [usage(bench, 4)]
    bench.stepping.forget()
    assert steps_of(bench).own == 0
    assert bench.state.trees == {}


def test_walking_from_change_to_change_by_c() -> None:
    bench = Workbench()
    bench.open(dropped())
    bench.first()
    bench.next_compaction()
    assert (bench.state.at, steps_of(bench).taken[0].name) == (1, "as recorded: micro-compaction")
    bench.stepping.go(ORIGIN)
    assert bench.state.stepped
    bench.next_compaction()
    assert (bench.state.at, steps_of(bench).taken[0].name) == (2, "as recorded: rewind")
    bench.next_compaction()
    assert bench.state.at == 1
    bench.previous_compaction()
    assert bench.state.at == 2
    bench.previous_compaction()
    assert (bench.state.at, bench.state.stepped) == (1, False)


def test_saved_replayed_and_exported(bench: Workbench) -> None:
    bench.stepping.go(ORIGIN)
    bench.stepping.step("L3b")
    steps = steps_of(bench)
    document = json.loads(json.dumps(write_steps(steps, StepsSource())))
    assert starts_before(document)
    again = replay_steps(document, steps.origin, steps.taken[RECORDED])
    assert again.elsewhere == ()
    assert again.steps.buffer.messages == steps.buffer.messages
    text = pytest_text(steps, StepsSource())
    compile(text, "exported", "exec")
    assert "as recorded" not in text


def test_a_change_of_settings_holds_for_steps_not_yet_taken(bench: Workbench) -> None:
    bench.stepping.set("context_window_tokens", "1000")
    assert bench.state.trees == {}
    assert start_of(bench.state).recorded is not None
    bench.stepping.go(ORIGIN)
    bench.stepping.step()
    assert steps_of(bench).taken[-1].settings.context_window_tokens == 1000


def test_a_step_that_changes_nothing_still_tells_the_size_before(bench: Workbench) -> None:
    found = reading(bench.state)
    assert found is not None
    assert found.before is None
    bench.stepping.choose(policy="roku", settings=(("microcompact_retain_recent", "50"),))
    bench.stepping.step("L0")
    found = reading(bench.state)
    assert found is not None
    assert found.before == found.pressure.tokens == usage(bench, 4)
