"""The gauge: one number with its kind, what the policy believes beside it, rows that add up, lines like verdicts."""

import re
from html import unescape
from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFont, QFontMetricsF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from inspector.core.buffer import Prompt, Stretch, Tool
from inspector.core.policies.catalogue import DEFAULT_POLICY, TITLES
from inspector.core.session import Request, Session, Thread
from inspector.gui.desk import Desk
from inspector.gui.look.glossary import explain
from inspector.gui.panels.diff.bar import diff_headline, short_headline
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.panels.timeline.readings import headroom
from inspector.gui.widgets.label_space import elide_name, stack_labels
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from inspector.workbench.diff import compare_sides, sides
from inspector.workbench.pressure.gauge import reading
from inspector.workbench.pressure.scale import gauge_lines, watermarks
from inspector.workbench.state import State
from tests.gui.stepping import messages

FULL = 78
"""The fullest request of the sample."""


@pytest.fixture
def gauge(desk: Desk, qtbot: QtBot) -> Gauge:
    """Visible, and shown every state."""
    made = Gauge(desk)
    qtbot.addWidget(made)
    made.resize(made.whole_width, 700)
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
    found = re.search(r"^(?:about )?([\d,]+)(?: of [\d,]+)? tokens", shown(gauge), re.MULTILINE)
    assert found is not None, shown(gauge)
    return int(found[1].replace(",", ""))


def legend(gauge: Gauge) -> int:
    return sum(
        int(one.replace(",", ""))
        for one in re.findall(r" ([\d,]+?)(?:, |$)", gauge.legend.accessibleDescription())
    )


def test_a_reported_number_stands_without_a_band(desk: Desk, sample: Gauge) -> None:
    stand(desk, FULL)
    assert "152,241 of 200,000 tokens" in shown(sample)
    assert sample._kind.text() == "reported"
    assert "range" not in shown(sample)


def test_at_the_end_it_is_predicted_with_its_band(desk: Desk, sample: Gauge) -> None:
    stand(desk, None)
    assert sample._kind.text() == "predicted"
    band = re.search(r"range ([\d,]+) to ([\d,]+)", shown(sample))
    assert band is not None
    low, high = (int(one.replace(",", "")) for one in band.groups())
    assert low < number(sample) < high


@pytest.mark.parametrize("at", [0, 6, FULL, 79, None])
def test_the_rows_of_the_legend_add_up_to_the_number(
    desk: Desk, sample: Gauge, at: int | None
) -> None:
    stand(desk, at)
    assert "not recorded" in sample.legend.accessibleDescription()
    assert legend(sample) == number(sample)


def test_own_count_of_another_policy_stands_below_with_its_error(desk: Desk, sample: Gauge) -> None:
    desk.workbench.stepping.choose(policy="learn-claude-code")
    state = stand(desk, FULL)
    assert state.previews is not None
    believed = state.previews.tokens
    error = f"{abs(believed / 152_241 - 1):.1%} too low"
    assert f"learn-claude-code v5's own count: {believed:,} ({error})" in shown(sample)
    assert "Policy: learn-claude-code v5" in shown(sample)


def test_own_count_of_the_default_policy_names_no_policy_above_the_tank(
    desk: Desk, sample: Gauge
) -> None:
    stand(desk, 131)
    assert "Roku's own count: " in shown(sample)
    assert "Policy:" not in shown(sample)


@pytest.mark.parametrize("policy", ["codex", "claude-code", "opencode"])
def test_who_counts_by_itself_after_a_compaction_is_said_to(
    desk: Desk, sample: Gauge, policy: str
) -> None:
    desk.workbench.stepping.choose(policy=policy)
    for at in (78, 79, 80):
        stand(desk, at)
        is_said = (
            "it leaves out the system prompt and tools until the next reported usage"
            in shown(sample)
        )
        assert is_said == (at == 79 and policy != "opencode")


# -- the scale


@pytest.mark.parametrize("policy", [name for name in TITLES if name != DEFAULT_POLICY])
def test_scale_is_there_under_every_policy_and_the_policys_lines_stand_beside_it(
    desk: Desk, sample: Gauge, policy: str
) -> None:
    desk.workbench.stepping.choose(policy=policy)
    lines = gauge_lines(stand(desk, 131))
    assert [(line.label, line.tokens) for line in lines[:2]] == [
        ("60% L1, L2", 120_000),
        ("75% L3", 150_000),
    ]
    own = watermarks(desk.workbench.state)
    assert [line.watermark for line in lines[2:]] == list(own)
    assert all(line.label.startswith(TITLES[policy].partition(" (")[0]) for line in lines[2:])


@pytest.mark.parametrize("window", [1_000, 200_000, 3_000_000, None])
def test_scale_is_there_in_every_window_also_an_unknown_one(
    desk: Desk, gauge: Gauge, window: int | None
) -> None:
    thread = Thread("main", "", "", (Request(0, Stretch(own=messages(1)[:1]).view()),))
    desk.workbench.open(Session("test", (thread,), path="unknown.json"))
    if window is not None:
        desk.workbench.set_window(window)
    now = reading(desk.workbench.state)
    assert now is not None
    assert now.rim == (window or 200_000)
    assert [line.tokens for line in now.lines] == [now.rim * 60 // 100, now.rim * 75 // 100]
    assert ("window unknown: 200,000 assumed" in shown(gauge)) == (window is None)


def test_headroom_is_by_the_number_that_is_shown(desk: Desk, sample: Gauge) -> None:
    stand(desk, 131)
    now = reading(desk.workbench.state)
    assert now is not None
    assert now.pressure.tokens == 122_765
    assert [headroom(now, line) for line in now.lines] == ["2,765 over", "27,235 to go"]
    assert now.believed != now.pressure.tokens


def test_headroom_is_the_same_before_and_after_the_tiers_were_looked_at(
    desk: Desk, sample: Gauge
) -> None:
    for policy in ("roku", "claude-code", "pi"):
        desk.workbench.stepping.choose(policy=policy)
        desk.workbench.move(90)
        desk.workbench.move(FULL)
        before = reading(desk.workbench.state)
        stand(desk, FULL)
        after = reading(desk.workbench.state)
        assert before is not None
        assert after is not None
        assert [headroom(before, line) for line in before.lines] == [
            headroom(after, line) for line in after.lines
        ]


def test_scale_line_dragged_on_the_gauge_under_another_policy_moves_and_comes_back(
    desk: Desk, sample: Gauge
) -> None:
    """The chosen policy's own settings stay as they are; the line keeps its place when the default policy is chosen."""
    desk.workbench.stepping.choose(policy="codex")
    stand(desk, 131)
    tank, left = sample.tank, Qt.MouseButton.LeftButton

    def spot(tokens: int) -> QPoint:
        return QPoint(40, round(tank.y_of(tokens)))

    QTest.mousePress(tank, left, pos=spot(120_000))
    QTest.mouseMove(tank, spot(80_000))
    QTest.mouseRelease(tank, left, pos=spot(80_000))
    low, high, *own = gauge_lines(desk.workbench.state)
    assert abs(low.tokens - 80_000) < 400
    assert (low.is_moved, high.tokens) == (True, 150_000)
    assert [line.watermark for line in own] == list(watermarks(desk.workbench.state))
    assert desk.workbench.state.choices.settings == ()
    desk.workbench.stepping.choose(policy="roku")
    assert gauge_lines(desk.workbench.state)[0].tokens == low.tokens
    desk.workbench.stepping.choose(policy="pi")
    assert gauge_lines(desk.workbench.state)[0].tokens == low.tokens
    QTest.mouseDClick(tank, left, pos=spot(low.tokens))
    assert gauge_lines(desk.workbench.state)[0].tokens == 120_000


def test_client_trigger_is_a_notch_with_its_name(desk: Desk, sample: Gauge) -> None:
    stand(desk, 131)
    now = reading(desk.workbench.state)
    assert now is not None
    assert now.trigger is not None
    assert (now.trigger.label, now.trigger.basis) == ("Claude Code 76.6%", "observed once")
    assert "Claude Code compacts at 76.6%, observed once." in sample.tank.about(
        sample.tank.y_of(153_212) - 1
    )
    assert "Claude Code compacts at 76.6%, observed once" in sample.tank.accessibleDescription()


# -- what is due


def test_chip_says_which_tiers_are_due_without_a_look_at_the_tiers(
    desk: Desk, sample: Gauge, qtbot: QtBot
) -> None:
    desk.workbench.move(131)
    qtbot.waitUntil(lambda: "L0 and L1 are due" in shown(sample))
    previews = desk.workbench.state.previews
    assert previews is not None
    assert not previews.by_tier, "no tier was tried out for it"
    desk.workbench.move(5)
    qtbot.waitUntil(lambda: "L0 is due" in shown(sample))


def test_policy_without_tiers_says_so_and_has_no_own_count(desk: Desk, sample: Gauge) -> None:
    desk.workbench.stepping.choose(policy="none")
    stand(desk, 131)
    assert "This policy has no tiers" in shown(sample)
    assert "own count" not in shown(sample)


def test_chip_of_a_policy_with_nothing_due_says_so(desk: Desk, sample: Gauge) -> None:
    desk.workbench.stepping.choose(policy="claude-code")
    stand(desk, 5)
    assert "No tier is due" in shown(sample)


def test_gauge_of_a_file_without_messages_and_calls_says_that_nothing_is_counted(
    desk: Desk, gauge: Gauge
) -> None:
    desk.workbench.open(Session("test", (Thread("main"),), path="empty.json"))
    words = shown(gauge)
    assert words.startswith(
        "PRESSURE\nNo tokens\nThe file records nothing that could be counted\nNo model call is recorded"
    )


# -- folded


def test_folded_gauge_keeps_share_place_and_what_is_due(
    desk: Desk, sample: Gauge, qtbot: QtBot
) -> None:
    stand(desk, 131)
    sample.resize(sample.folded_width, 700)
    qtbot.wait(10)
    assert sample.folded
    assert shown(sample).split("\n") == ["61.4%", "request", "131", "L0, L1"]
    assert "61.4%: 122,765 of 200,000 tokens" in sample.toolTip()
    for one in sample.findChildren(QLabel):
        if one.isVisible():
            assert one.width() >= max(
                one.fontMetrics().horizontalAdvance(line) for line in one.text().split("\n")
            )
    sample.resize(sample.whole_width, 700)
    qtbot.waitUntil(lambda: not sample.folded)
    assert "122,765 of 200,000 tokens" in shown(sample)


def test_folded_gauge_when_the_due_tiers_have_no_room_counts_them(
    desk: Desk, sample: Gauge, qtbot: QtBot
) -> None:
    desk.workbench.stepping.choose(settings=(("mid_ratio", "0.1"), ("high_ratio", "0.2")))
    stand(desk, 131)
    sample.resize(sample.folded_width, 700)
    qtbot.waitUntil(lambda: sample._due.text() == "3 due", timeout=5000)
    assert sample._due.sizeHint().width() <= sample.width()
    assert "L0, L1 and L3b are due" in unescape(sample._due.toolTip())


# -- hover


def test_every_term_of_the_gauge_is_explained_by_a_sentence_of_the_glossary(
    desk: Desk, sample: Gauge
) -> None:
    stand(desk, None)
    now = reading(desk.workbench.state)
    assert now is not None

    def tips(one: QLabel) -> str:
        return unescape(one.toolTip())

    assert explain("predicted") in tips(sample._kind)
    assert explain("pressure") in tips(sample._ratio)
    assert explain("window") in tips(sample._tokens)
    assert explain("due") in tips(sample._due)
    assert explain("tier") in tips(sample._due)
    assert explain("own count") in tips(sample._count)
    tank = sample.tank
    assert tank.about(tank.y_of(now.lines[0].tokens)).startswith(explain("watermark"))
    assert tank.about(tank.y_of(199_000)).startswith(explain("answer reserve"))
    high = 0
    for name, tokens in (("not recorded", now.unseen), *now.parts):
        middle, high = tank.y_of(high + tokens / 2), high + tokens
        assert tank._line_at(middle) or tank.about(middle).startswith(explain(str(name)))
    sample.grab()
    for room, label in tank._rooms:
        assert tank.about_label(room.center()) == label.explanation
    assert {label.name for _, label in tank._rooms} >= {"60% L1, L2", "75% L3", "Claude Code 76.6%"}
    names = ["not recorded", *(str(name) for name, _ in now.parts)][::-1]
    for place, name in enumerate(names):
        row = (place + 0.5) * sample.legend._height()
        assert sample.legend.about(row).startswith(explain(name))


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
    assert compare_sides(seen).delta == -freed
    assert f"−{freed:,} from 152,241" in shown(sample)


def test_a_step_that_changes_nothing_changes_no_number(desk: Desk, sample: Gauge) -> None:
    stand(desk, 1)
    before = shown(sample).split("\n")[:5]
    desk.workbench.stepping.step("L0")
    desk.workbench.previews.look()
    assert desk.workbench.state.stepped
    assert sample._kind.text() == "reported"
    assert shown(sample).split("\n")[:4] == before[:4]


def test_the_headline_says_what_stays_unseen_even_in_little_room(desk: Desk, sample: Gauge) -> None:
    stand(desk, FULL)
    desk.workbench.stepping.step("L0")
    seen = sides(desk.workbench.state)
    assert seen is not None
    comparison = compare_sides(seen)
    now = reading(desk.workbench.state)
    assert now is not None
    assert diff_headline(comparison).endswith(f"{now.unseen:,} unrecorded tokens stay")
    before = now.before or 0
    sizes = f"{before:,} → about {before + comparison.delta:,}"
    assert short_headline(comparison) == f"L0: {sizes} · {now.unseen:,} not recorded"


def test_a_request_body_counts_its_prompt_and_tools(desk: Desk, gauge: Gauge) -> None:
    tools = tuple(
        Tool(f"tool_{n}", {"name": f"tool_{n}", "description": "what it does " * 50})
        for n in range(20)
    )
    prompt = Prompt("Be careful. " * 300, tools)
    view = Stretch(own=messages(1)[:1]).view()
    thread = Thread("main", "", "claude-opus-4-5", (Request(0, view, prompt),), (), view, prompt)
    desk.workbench.open(Session("anthropic", (thread,), path="body.json"))
    desk.workbench.stepping.choose(policy="pulse")
    state = stand(desk, 0)
    now = reading(state)
    assert now is not None
    parts = dict(now.parts)
    assert gauge._kind.text() == "counted"
    assert parts["system"] > 700
    assert parts["tools"] > 2_000
    assert sum(parts.values()) == number(gauge) == legend(gauge)
    assert now.unseen == 0
    assert state.previews is not None
    assert state.previews.verdicts[0].tokens == now.believed
    assert state.previews.tokens < 100, "Pulse counts what was said"
    assert "too low" not in shown(gauge), "an estimate is no truth to be wrong about"


@pytest.mark.parametrize("tops", [[5, 100, 190], [5, 10, 20, 30], [196, 197, 198], [2]])
def test_stacked_labels_stay_inside_and_apart(tops: list[float]) -> None:
    heights = [28.0] * len(tops)
    places = stack_labels(tops, heights, 200)
    assert places[0] >= 0
    assert places[-1] + 28 <= 200
    assert all(below >= above + 28 for above, below in pairwise(places))


def test_stacked_labels_with_room_are_where_they_are_wanted() -> None:
    assert stack_labels([60, 150], [28, 28], 200) == [60, 150]


def test_stacked_labels_without_room_for_all_are_none() -> None:
    assert stack_labels([*range(9)], [28.0] * 9, 200) == []


@pytest.mark.parametrize(
    "name", ["Anthropic context editing 84%", "The client 76.6%", "learn-claude-code v5 100k"]
)
def test_long_name_of_a_line_in_little_room_keeps_its_share(name: str) -> None:
    metrics = QFontMetricsF(QFont())
    room = metrics.horizontalAdvance(name) * 0.7
    cut = elide_name(name, metrics, room)
    assert cut.endswith(f" {name.rsplit(maxsplit=1)[-1]}")
    assert "…" in cut
    assert metrics.horizontalAdvance(cut) <= room + 1
    assert elide_name(name, metrics, 1_000) == name
