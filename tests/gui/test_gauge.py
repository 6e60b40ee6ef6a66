"""The gauge: one number with its kind, what the policy believes beside it, rows that add up, lines like verdicts."""

import re
from itertools import pairwise

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Prompt, Stretch, Tool
from inspector.core.session import Request, Session, Thread
from inspector.gui.desk import Desk
from inspector.gui.panels.diff.bar import headline, in_short
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.panels.timeline.tank import headroom, label_places
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from inspector.workbench.diff import compared, sides
from inspector.workbench.gauge import reading
from inspector.workbench.state import State
from tests.gui.stepping import messages

FULL = 78
"""The fullest request of the sample."""


@pytest.fixture
def gauge(desk: Desk, qtbot: QtBot) -> Gauge:
    """Visible, told of every state."""
    made = Gauge(desk)
    qtbot.addWidget(made)
    made.resize(240, 700)
    made.show()
    desk.workbench.subscribe(made.receive)
    return made


@pytest.fixture
def sample(desk: Desk, gauge: Gauge) -> Gauge:
    """With the session that ships with the program, by Roku."""
    desk.workbench.stepping.choose(policy="roku")
    desk.workbench.open(open_transcript(str(resource("sample.jsonl"))))
    return gauge


def shown(gauge: Gauge) -> str:
    return "\n".join(one.text() for one in gauge.findChildren(QLabel) if one.isVisible()).replace(
        "\N{NO-BREAK SPACE}", " "
    )


def stand(desk: Desk, at: int | None) -> State:
    """At a request, with all that the tiers have to say there."""
    desk.workbench.move(at)
    desk.workbench.previews.look()
    return desk.workbench.state


def number(gauge: Gauge) -> int:
    found = re.search(r"^([\d,]+)(?: of [\d,]+)? tokens", shown(gauge), re.MULTILINE)
    assert found is not None, shown(gauge)
    return int(found[1].replace(",", ""))


def legend(gauge: Gauge) -> int:
    return sum(
        int(one.replace(",", "")) for one in re.findall(r" ([\d,]+?)(?:, |$)", gauge.legend.accessibleDescription())
    )


def test_a_reported_number_stands_without_a_band(desk: Desk, sample: Gauge) -> None:
    stand(desk, FULL)
    assert "152,241 of 200,000 tokens" in shown(sample)
    assert sample._kind.text() == "reported"
    assert "most likely" not in shown(sample)


def test_at_the_end_it_is_predicted_with_its_band(desk: Desk, sample: Gauge) -> None:
    stand(desk, None)
    assert sample._kind.text() == "predicted"
    band = re.search(r"most likely ([\d,]+) to ([\d,]+)", shown(sample))
    assert band is not None
    low, high = (int(one.replace(",", "")) for one in band.groups())
    assert low < number(sample) < high


@pytest.mark.parametrize("at", [0, 6, FULL, 79, None])
def test_the_rows_of_the_legend_add_up_to_the_number(desk: Desk, sample: Gauge, at: int | None) -> None:
    stand(desk, at)
    assert "not in this file" in sample.legend.accessibleDescription()
    assert legend(sample) == number(sample)


def test_what_the_policy_believes_stands_beside_it_with_its_error(desk: Desk, sample: Gauge, qtbot: QtBot) -> None:
    desk.workbench.stepping.choose(policy="learn-claude-code")
    state = stand(desk, FULL)
    assert state.previews is not None
    believed = state.previews.tokens
    words = f"learn-claude-code v5 believes {believed:,}: {abs(believed / 152_241 - 1):.1%} too low"
    assert words.lower() in shown(sample).lower()
    now = sample.tank._reading
    assert now is not None
    mark = sample.tank._about(sample.tank._y(believed), now).replace("\N{NO-BREAK SPACE}", " ")
    assert mark.lower().startswith(words.lower())


@pytest.mark.parametrize("policy", ["codex", "claude-code", "opencode"])
def test_who_counts_by_itself_after_a_compaction_is_said_to(desk: Desk, sample: Gauge, policy: str) -> None:
    desk.workbench.stepping.choose(policy=policy)
    for at in (78, 79, 80):
        stand(desk, at)
        said = "by its own count till the next report" in shown(sample)
        assert said == (at == 79 and policy != "opencode")


@pytest.mark.parametrize(
    "policy", ["roku", "pulse", "pi", "learn-claude-code", "claude-code", "codex", "gemini", "opencode"]
)
@pytest.mark.parametrize("at", [6, FULL, None])
def test_the_lines_say_what_the_verdicts_say(desk: Desk, sample: Gauge, policy: str, at: int | None) -> None:
    """`2,241 over` here and `53,785 to go` there would be two truths."""
    desk.workbench.stepping.choose(policy=policy)
    state = stand(desk, at)
    now = reading(state)
    assert now is not None
    assert now.lines
    assert state.previews is not None
    told = {verdict.tier: verdict.why for verdict in state.previews.verdicts}
    compared_ = 0
    for line in now.lines:
        for tier in line.tiers:
            if re.search(r"\d (?:over|to go)", told.get(tier, "")):
                assert headroom(now, line) in told[tier], (line.label, told[tier])
                compared_ += 1
    assert compared_


def test_after_a_step_it_is_predicted_and_all_places_agree(desk: Desk, sample: Gauge) -> None:
    stand(desk, FULL)
    desk.workbench.previews.point("L1")
    found = desk.workbench.state.preview
    assert found is not None
    freed = found.freed
    desk.workbench.stepping.step("L1")
    desk.workbench.previews.look()
    assert sample._kind.text() == "predicted"
    assert number(sample) == 152_241 - freed
    assert legend(sample) == number(sample)
    seen = sides(desk.workbench.state)
    assert seen is not None
    assert compared(seen).delta == -freed
    assert f"−{freed:,} from 152,241" in shown(sample)


def test_a_step_that_changes_nothing_changes_no_number(desk: Desk, sample: Gauge) -> None:
    stand(desk, 1)
    before = shown(sample).split("\n")[:4]
    desk.workbench.stepping.step("L0")
    desk.workbench.previews.look()
    assert desk.workbench.state.stepped
    assert sample._kind.text() == "reported"
    assert shown(sample).split("\n")[:3] == before[:3]


def test_the_headline_says_what_stays_unseen_even_in_little_room(desk: Desk, sample: Gauge) -> None:
    stand(desk, FULL)
    desk.workbench.stepping.step("L0")
    seen = sides(desk.workbench.state)
    assert seen is not None
    comparison = compared(seen)
    now = reading(desk.workbench.state)
    assert now is not None
    assert headline(comparison).endswith(f"{now.unseen:,} not in this file stay")
    assert in_short(comparison) == f"L0: −{-comparison.delta:,} · {now.unseen:,} not in file"


def test_a_request_body_counts_its_prompt_and_tools(desk: Desk, gauge: Gauge) -> None:
    tools = tuple(Tool(f"tool_{n}", {"name": f"tool_{n}", "description": "what it does " * 50}) for n in range(20))
    prompt = Prompt("Be careful. " * 300, tools)
    view = Stretch(own=messages(1)[:1]).view()
    thread = Thread("main", "", "claude-opus-4-5", (Request(0, view, prompt),), (), view, prompt)
    desk.workbench.open(Session("anthropic", (thread,), path="body.json"))
    desk.workbench.stepping.choose(policy="pulse")
    state = stand(desk, 0)
    now = reading(state)
    assert now is not None
    parts = dict(now.parts)
    assert gauge._kind.text() == "estimated"
    assert parts["system"] > 700
    assert parts["tools"] > 2_000
    assert sum(parts.values()) == number(gauge) == legend(gauge)
    assert now.unseen == 0
    assert state.previews is not None
    assert state.previews.verdicts[0].tokens == now.believed
    assert state.previews.tokens < 100, "Pulse counts what was said"
    assert "too low" not in shown(gauge), "an estimate is no truth to be wrong about"


def test_labels_of_lines_stay_inside_and_apart() -> None:
    above, below, high = 10, 18, 200
    for ys in ([190, 100, 5], [30, 20, 10, 5], [199, 198, 197], [2]):
        places = label_places(ys, above, below, high)
        assert all(place - above >= 0 and place + below <= high for place in places)
        assert all(lower - above >= higher + below for lower, higher in pairwise(places))
    assert label_places([150, 60], above, below, high) == [150, 60], "where nothing is in the way it is at its line"
    assert not label_places([*range(9)], above, below, high), "nine have no room"
