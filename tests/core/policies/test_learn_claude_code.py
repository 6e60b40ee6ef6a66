"""learn-claude-code's conformance cases L-TH, L-ES, L-SC, L-MC, L-AC, L-MA, L-RS, L-LO, L-SA, by ID."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.answering import NOT_WRITTEN, offline, rehearsed
from inspector.core.buffer import Buffer
from inspector.core.dialects.anthropic import read_messages, write_messages
from inspector.core.errors import InspectorError
from inspector.core.message import Image, Json, Message, Text, Thinking, ToolCall, ToolResult
from inspector.core.needs import (
    Answer,
    AskModel,
    Failure,
    Need,
    ProviderFailure,
    ReadFile,
    RunTools,
    SaveText,
    SaveTranscript,
    Summarize,
    drive,
)
from inspector.core.outcome import Outcome
from inspector.core.policies.learn_claude_code import POLICY
from inspector.core.policies.learn_claude_code.layers import (
    ACKNOWLEDGED,
    INSTRUCTIONS,
    PLACEHOLDER,
    handle_tool_output,
    should_compact,
    sizes,
)
from inspector.core.policies.learn_claude_code.settings import LearnSettings, LearnState
from inspector.core.policies.learn_claude_code.wire import list_tokens, text_tokens, wire_tokens, wires
from inspector.core.policies.verdict import PolicyInput
from tests.core.policies.build import AgentLoop, Script, assistant, buffer, play_loop, result, texts, user

FAIL = ProviderFailure("down")
DEFAULT = LearnSettings()
SAFE = LearnSettings(mode="safe")
SMALL = POLICY.settings([("overhead", "183000"), ("min_savings", "10")])
"""A threshold of 616 tokens."""


def m(tokens: int) -> Message:
    """m(k) with so many tokens."""
    return user("x" * (4 * tokens - 31))


class World:
    """Files, a disk, a summariser with answers in order, and a model."""

    def __init__(
        self, *summaries: str | Failure, files: Mapping[str, str] | None = None, answers: tuple[Answer, ...] = ()
    ) -> None:
        self.summaries = list(summaries)
        self.answers = list(answers)
        self.files = files or {}
        self.full_disk = False
        self.saved: list[tuple[str, tuple[Message, ...]]] = []
        self.outputs: list[str] = []
        self.needs: list[Need] = []

    def __call__(self, need: Need) -> Answer:
        self.needs.append(need)
        match need:
            case SaveTranscript() | SaveText() if self.full_disk:
                raise ProviderFailure("the disk is full")
            case SaveTranscript(messages, name):
                self.saved.append((name, messages))
                return Answer(text=f"{name}.jsonl")
            case SaveText(text):
                self.outputs.append(text)
                return Answer(text="out.txt")
            case ReadFile(path, limit):
                if path not in self.files:
                    raise ProviderFailure("no such file", kind="missing")
                return Answer(text=self.files[path][:limit])
            case Summarize() if self.summaries:
                reply = self.summaries.pop(0)
                if isinstance(reply, Failure):
                    raise reply
                return Answer(text=reply)
            case AskModel() if self.answers:
                return self.answers.pop(0)
            case RunTools(calls):
                return Answer(messages=tuple(result(call.id, f"out of {call.name}") for call in calls))
        raise ProviderFailure("nobody")

    @property
    def kinds(self) -> list[str]:
        return [type(need).__name__ for need in self.needs]


def run(
    tier: str,
    start: Buffer,
    world: World,
    settings: LearnSettings = DEFAULT,
    running: LearnState | None = None,
    moment: PolicyInput | None = None,
) -> Outcome[LearnState]:
    return drive(POLICY.tier(tier, start, settings, running or LearnState(), moment or PolicyInput()), world)


# --- threshold, estimate, gate


@pytest.mark.parametrize(
    ("window", "output", "expected"),
    [(200_000, 16_384, 170_616), (200_000, 50_000, 167_000), (200_000, 20_000, 167_000), (200_000, 20_001, 167_000)],
)
def test_l_th_1(window: int, output: int, expected: int) -> None:
    settings = POLICY.settings([("max_output", str(output))], window)
    assert settings.threshold == expected
    (line,) = POLICY.watermarks(settings)
    assert (line.tokens, line.tiers) == (expected, ("auto",))


def test_l_th_3() -> None:
    values = [("context_window", "20000"), ("max_output", "8000")]
    assert POLICY.settings(values).threshold == -1000
    with pytest.raises(InspectorError, match="-1,000"):
        POLICY.settings([*values, ("mode", "safe")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", 0, id="L-ES-1 empty"), pytest.param("abc", 0, id="L-ES-1 abc"),
        pytest.param("abcd", 1, id="L-ES-1 abcd"), pytest.param("hello world", 2, id="L-ES-1 hello"),
        pytest.param("中" * 8, 2, id="L-ES-1 Chinese"), pytest.param("x" * 4003, 1000, id="L-ES-2"),
        pytest.param("x" * 4004, 1001, id="L-ES-2 more"), pytest.param("中" * 1000, 250, id="L-ES-3 raw"),
    ],
)  # fmt: skip
def test_text_estimate(text: str, expected: int) -> None:
    assert text_tokens(text) == expected


def test_l_es_3() -> None:
    assert list_tokens([user("中" * 1000)]) == 1507
    assert list_tokens([user("")]) == 31 // 4


@pytest.mark.parametrize(
    ("messages", "due", "savings"),
    [
        pytest.param([m(21_327)] * 8, False, 63_981, id="L-SC-1"),
        pytest.param([m(21_328), *[m(21_327)] * 7], True, 63_982, id="L-SC-2"),
        pytest.param([m(20_000), *[m(31_000)] * 5], True, 20_000, id="L-SC-3"),
        pytest.param([m(19_999), *[m(31_000)] * 5], False, 19_999, id="L-SC-4"),
        pytest.param([m(50_000)] * 5, False, 0, id="L-SC-5"),
        pytest.param([], False, 0, id="L-SC-6"),
    ],
)
def test_should_compact(messages: list[Message], due: bool, savings: int) -> None:
    start = buffer(*(replace(one, id=f"m{n}") for n, one in enumerate(messages)))
    assert should_compact(start.messages, DEFAULT) is due
    assert sizes(start.messages, DEFAULT)[1] == savings
    verdict = POLICY.due(start, DEFAULT, LearnState(), PolicyInput())[1]
    assert verdict.due is due
    world = World("SUM")
    done = drive(POLICY.before_call(start, DEFAULT, LearnState(), PolicyInput()), world)
    assert [outcome.tier for outcome in done] == (["micro", "auto"] if due else ["micro"])
    assert bool(world.needs) is due


def test_verdicts_say_why() -> None:
    def why(*sizes: int) -> str:
        return POLICY.due(buffer(*map(m, sizes)), DEFAULT, LearnState(), PolicyInput())[1].why

    own = " · the window is its own"
    assert why(170_616) == "170,616 <= 170,616 (200,000 - 16,384 - 13,000): 1 to go" + own
    assert why(170_617).endswith("1 over · saves 0 < 20,000: not worth it" + own)
    assert why(20_000, *[31_000] * 5).endswith("4,384 over · saves 20,000 >= 20,000" + own)


# --- the wire


def test_results_that_travel_together_count_as_one() -> None:
    results = [{"type": "tool_result", "tool_use_id": f"c{i}", "content": "x" * 100} for i in range(3)]
    together = read_messages("user", results, id="w")
    assert len(wires(together)) == 1
    assert list_tokens(together) == len(json.dumps({"role": "user", "content": results})) // 4
    neighbours = [result(f"c{i}", "x" * 100) for i in range(3)]
    assert list_tokens(neighbours) == list_tokens(together)


_PARTS = st.sampled_from(
    [Text("hi"), Text("中\n"), Text(""), ToolCall("c", "ls", {"é": 1}), Image("image/png", "AAAA")]
)
_MESSAGES = st.one_of(
    st.builds(
        lambda role, parts, together: Message("m", role, tuple(parts), together),
        st.sampled_from(["user", "assistant", "system"]), st.lists(_PARTS, max_size=3), st.sampled_from(["", "", "w"]),
    ),
    st.builds(
        lambda texts, whole, error, image, together: Message(
            "t",
            "tool",
            (
                ToolResult("c", "\n".join(texts), error, () if whole else tuple(texts)),
                *([Image("image/png", "AAAA")] if image else []),
            ),
            together,
        ),
        st.lists(st.sampled_from(["", "out", '"中"']), max_size=2), st.booleans(), st.booleans(), st.booleans(),
        st.sampled_from(["", "", "w"]),
    ),
)  # fmt: skip


@given(st.lists(_MESSAGES, max_size=8))
def test_tokens_are_those_of_the_json_text(messages: list[Message]) -> None:
    whole = write_messages(messages)
    assert [wire_tokens(wire) for wire in wires(messages)] == [len(json.dumps(one)) // 4 for one in whole]


# --- microcompact


def ran(*outputs: tuple[str, int], unknown: int = -1) -> Buffer:
    """Calls in one assistant message, their results in one user message; the result at `unknown` has no call."""
    calls: list[tuple[str, str, Json]] = [(f"t{i}", tool, {}) for i, (tool, _) in enumerate(outputs)]
    blocks = [
        {"type": "tool_result", "tool_use_id": "lost" if i == unknown else f"t{i}", "content": "x" * size}
        for i, (_, size) in enumerate(outputs)
    ]
    return buffer(user("go"), assistant("", *calls), *read_messages("user", blocks, id="results"))


@pytest.mark.parametrize(
    ("start", "cleared"),
    [
        pytest.param(ran(*[("read_file", 5000)] * 3), [], id="L-MC-1"),
        pytest.param(
            ran(("bash", 4003), ("bash", 4004), *[("bash", 5000)] * 3), [1], id="L-MC-3"
        ),
        pytest.param(
            ran(*[("bash", 5000), ("TodoWrite", 5000)] * 3), [], id="L-MC-4"
        ),
        pytest.param(ran(("TodoWrite", 5000), *[("bash", 5000)] * 4), [1], id="L-MC-5"),
        pytest.param(ran(*[("bash", 5000)] * 4, unknown=0), [], id="L-MC-6"),
        pytest.param(ran(*[("edit_file", 5000)] * 4), [0], id="four"),
    ],
)  # fmt: skip
def test_micro(start: Buffer, cleared: list[int]) -> None:
    outcome = run("micro", start, World())
    after = texts(outcome.buffer.messages[2:])
    assert [n for n, text in enumerate(after) if text == PLACEHOLDER] == cleared
    kept = [text for n, text in enumerate(after) if n not in cleared]
    assert kept == [text for n, text in enumerate(texts(start.messages[2:])) if n not in cleared]
    assert outcome.events == ()
    assert set(outcome.changed.values()) <= {"cleared"}
    assert POLICY.due(start, DEFAULT, LearnState(), PolicyInput())[0].due is bool(cleared)
    assert run("micro", outcome.buffer, World()).buffer == outcome.buffer


def test_l_mc_10() -> None:
    start = ran(*[("bash", 5000)] * 5)
    after = run("micro", start, World()).buffer
    assert after.messages[:2] == start.messages[:2]
    for old, new in zip(start.messages[2:], after.messages[2:], strict=True):
        assert old.result
        assert new.result
        assert (new.id, new.together, new.role) == (old.id, old.together, old.role)
        assert (new.result.call_id, new.result.is_error) == (old.result.call_id, old.result.is_error)
    assert len(write_messages(after.messages)) == 3


_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
_LISTS: dict[str, Json] = {
    "picture": [{"type": "text", "text": "x" * 5000}, _IMAGE],
    "texts": [{"type": "text", "text": "x" * 5000}] * 2,
    "one text": [{"type": "text", "text": "x" * 5000}],
    "picture alone": [_IMAGE],
}


def shaped(*contents: Json) -> Buffer:
    """Results of bash, each with that content, in one user message."""
    blocks = [{"type": "tool_result", "tool_use_id": f"t{i}", "content": one} for i, one in enumerate(contents)]
    calls: list[tuple[str, str, Json]] = [(f"t{i}", "bash", {}) for i in range(len(contents))]
    return buffer(user("go"), assistant("", *calls), *read_messages("user", blocks, id="results"))


@pytest.mark.parametrize("content", _LISTS.values(), ids=_LISTS)
def test_a_list_counts_among_the_newest_but_is_never_cleared(content: Json) -> None:
    long = "y" * 5000
    assert run("micro", shaped(content, long, long, long), World()).changed == {}
    for at in range(1, 5):
        contents: list[Json] = [long] * 5
        contents[at] = content
        start = shaped(*contents)
        after = run("micro", start, World()).buffer
        cleared = [n for n, text in enumerate(texts(after.messages[2:])) if text == PLACEHOLDER]
        assert cleared == [n for n in (0, 1) if n != at]
        assert write_messages(after.messages)[2]["content"][at]["content"] == content


def test_micro_leaves_alone_what_came_before_its_call() -> None:
    start = ran(*[("bash", 5000)] * 4)
    early = [start.messages[2], *start.messages[:2], *start.messages[3:]]
    assert run("micro", buffer(*early), World()).changed == {}


def test_no_recent_results_kept_is_pythons_empty_slice() -> None:
    start = ran(*[("bash", 5000)] * 4)
    for mode, cleared in (("faithful", 0), ("safe", 4)):
        settings = POLICY.settings([("KEEP_RECENT", "0"), ("mode", mode)])
        assert len(run("micro", start, World(), settings).changed) == cleared


def test_the_tools_can_be_named() -> None:
    settings = POLICY.settings([("COMPACTABLE_TOOLS", "Bash, Read")])
    assert len(run("micro", ran(*[("Read", 5000)] * 4), World(), settings).changed) == 1


# --- auto


def talk(n: int) -> Buffer:
    return buffer(*(user(f"q{i}") if i % 2 == 0 else assistant(f"r{i}") for i in range(n)), system="you are")


def test_auto() -> None:
    start = talk(9)
    world = World("SUM")
    outcome = run("auto", start, world)
    assert world.kinds == ["SaveTranscript", "Summarize"]
    assert world.saved == [("transcript", start.messages)]
    assert [(one.role, one.text) for one in outcome.buffer.messages[:2]] == [
        ("user", "[Conversation compressed]\nSUM"),
        ("assistant", ACKNOWLEDGED),
    ]
    assert outcome.buffer.messages[2:] == start.messages[-5:]
    assert outcome.events[0].name == "compacted"
    assert outcome.events[0].fields == {
        "layer": "auto",
        "tokens_before": list_tokens(start.messages),
        "tokens_after": list_tokens(outcome.buffer.messages),
        "transcript_path": "transcript.jsonl",
    }
    assert outcome.changed == {one.id: "summarised" for one in start.messages[:4]}


def test_what_the_summariser_reads_is_cut() -> None:
    start = buffer(user("u" * 900), assistant("", ("c", "bash", {})), result("c", "o" * 900), *talk(600).messages)
    world = World("SUM")
    run("auto", start, world, POLICY.settings([("summary_total_chars", "2000")]))
    need = world.needs[-1]
    assert isinstance(need, Summarize)
    lines = need.text.split("\n")
    assert lines[:3] == ["[user] " + "u" * 500, "[tool_result] " + "o" * 200, "[user] q0"]
    assert len(need.text) == 2000
    assert (need.max_tokens, need.timeout_s, need.source) == (2_000, 300, start.messages)


def test_the_summariser_reads_texts_and_results_as_upstream_writes_them() -> None:
    """A line each, no calls, no thinking; a list as Python writes one, cut like a text."""
    blocks = [
        {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "it's"}], "is_error": True},
        {"type": "tool_result", "tool_use_id": "d", "content": [{"type": "text", "text": "z" * 300}, _IMAGE]},
        {"type": "text", "text": "and then?"},
    ]
    answer = Message(
        "a",
        "assistant",
        (Thinking("hm"), Text("I look."), ToolCall("c", "bash", {}), Text("Here."), ToolCall("d", "ls", {})),
    )
    start = buffer(user("go\non"), answer, *read_messages("user", blocks, id="w"), user(""))
    world = World("SUM")
    run("auto", start, world)
    need = world.needs[-1]
    assert isinstance(need, Summarize)
    assert need.text.split("\n") == [
        "[user] go",
        "on",
        "[assistant] I look.",
        "[assistant] Here.",
        """[tool_result] [{'type': 'text', 'text': "it's"}]""",
        "[tool_result] " + ("[{'type': 'text', 'text': '" + "z" * 300)[:200],
        "[user] and then?",
        "[user] ",
    ]


def test_messages_that_travel_together_are_one_of_the_five() -> None:
    start = buffer(user("old"), user("older"), *ran(*[("bash", 10)] * 4).messages, assistant("done"))
    outcome = run("auto", start, World("SUM"))
    assert outcome.buffer.messages[2:] == start.messages[1:]  # 5 wire messages, 8 of ours


def test_l_ac_3() -> None:
    start = talk(3)
    outcome = run("manual", start, World("SUM"))
    assert outcome.buffer.messages[2:] == start.messages
    assert len(outcome.buffer.messages) == 5
    again = run("manual", outcome.buffer, World("SUM2"))
    ids = [one.id for one in again.buffer.messages]
    assert len(set(ids)) == len(ids) == 7


@pytest.mark.parametrize("tier", [pytest.param("auto", id="L-AC-4"), pytest.param("manual", id="L-MA-4")])
def test_summary_fails(tier: str) -> None:
    start = talk(9)
    for settings, failures in ((DEFAULT, 0), (SAFE, 1)):
        world = World(FAIL)
        outcome = run(tier, start, world, settings)
        assert world.saved == [("transcript", start.messages)]
        assert outcome.buffer is start
        assert (outcome.succeeded, outcome.error) == (False, "provider_failure")
        assert outcome.running.failures == failures


def test_safe_mode_stops_after_three_failures() -> None:
    start, running = talk(9), LearnState()
    settings = replace(SAFE, overhead=183_610, min_savings=1)
    for failures in (1, 2, 3):
        world = World(FAIL)
        done = drive(POLICY.before_call(start, settings, running, PolicyInput()), world)
        running = done[-1].running
        assert running == LearnState(failures, failures == 3)
        assert POLICY.load(settings, POLICY.dump(running)) == running
    state = POLICY.breaker(settings, running)
    assert state is not None
    assert (state.open, state.failures, state.limit) == (True, 3, 3)
    world = World("SUM")
    assert len(drive(POLICY.before_call(start, settings, running, PolicyInput()), world)) == 1
    assert not world.needs
    assert "3 summaries failed in a row" in POLICY.due(start, settings, running, PolicyInput())[1].why
    assert run("manual", start, world, settings, running).running == LearnState()  # the user may still ask
    assert POLICY.breaker(DEFAULT, running) is None


def test_a_blank_summary_is_a_failure_in_safe_mode_only() -> None:
    assert run("auto", talk(9), World(" \n"), SAFE).error == "blank_summary"
    assert run("auto", talk(9), World("")).buffer.messages[0].text == "[Conversation compressed]\n"


@pytest.mark.parametrize("settings", [DEFAULT, SAFE])
def test_nothing_is_replaced_before_the_transcript_is_saved(settings: LearnSettings) -> None:
    world = World("SUM")
    world.full_disk = True
    start = talk(9)
    outcome = run("auto", start, world, settings)
    assert (outcome.buffer, outcome.error, world.kinds) == (start, "transcript_not_saved", ["SaveTranscript"])


def orphaned() -> Buffer:
    """The last five begin with the results of a call in the sixth."""
    calls: list[tuple[str, str, Json]] = [("a", "bash", {}), ("b", "bash", {})]
    return buffer(
        user("old"), assistant("r"), user("plain"), assistant("calling", *calls), result("a", "1"), result("b", "2"),
        assistant("x"), user("y"), assistant("z"), user("last"),
    )  # fmt: skip


def test_l_ac_6() -> None:
    start = orphaned()
    faithful = run("auto", start, World("SUM"))
    assert faithful.buffer.messages[2:] == start.messages[4:]
    safe = run("auto", start, World("SUM"), SAFE)
    assert safe.buffer.messages[2:] == start.messages[2:]
    assert [one.role for one in safe.buffer.messages[:3]] == ["user", "assistant", "user"]


def test_l_ac_6_without_a_plain_user_message_orphans_are_dropped() -> None:
    start = buffer(assistant("calling", ("a", "bash", {})), *orphaned().messages[4:])
    safe = run("auto", start, World("SUM"), SAFE)
    assert [one.text for one in safe.buffer.messages[1:]] == ["x", "y", "z", "last"]  # no acknowledgement either
    assert safe.changed[start.messages[1].id] == "summarised"


def test_l_ac_7() -> None:
    start = talk(10)
    faithful = run("auto", start, World("SUM"))
    assert [one.role for one in faithful.buffer.messages[:3]] == ["user", "assistant", "assistant"]
    safe = run("auto", start, World("SUM"), SAFE)
    assert [one.role for one in safe.buffer.messages[:3]] == ["user", "assistant", "user"]
    assert safe.buffer.messages[1:] == start.messages[-5:]


def test_l_ac_8() -> None:
    start = talk(9)
    assert run("auto", start, World("SUM")).buffer.prompt is start.prompt


def test_l_ac_10() -> None:
    world = World("ONE", "TWO")
    first = run("auto", talk(9), world)
    grown = buffer(*first.buffer.messages, *talk(4).messages)
    run("auto", grown, world)
    assert [messages for _, messages in world.saved] == [world.saved[0][1], grown.messages]
    assert len(world.saved) == 2


def test_the_newest_user_message_may_be_pinned() -> None:
    asked = user("what I want")
    start = buffer(user("old"), asked, *(one for i in range(4) for one in (
        assistant("", (f"c{i}", "bash", {})), result(f"c{i}", "out")
    )))  # fmt: skip
    assert asked not in run("auto", start, World("SUM")).buffer.messages
    pinned = run("auto", start, World("SUM"), replace(DEFAULT, pin_last_user=True))
    assert pinned.buffer.messages[2] is asked
    assert len(pinned.buffer.messages) == 2 + 1 + 5


# --- manual


def test_l_ma_2() -> None:
    for wish, expected in (("", INSTRUCTIONS), ("keep the paths", f"{INSTRUCTIONS}\n\nThe user asks: keep the paths")):
        world = World("SUM")
        outcome = run("manual", talk(9), world, moment=PolicyInput(instructions=wish))
        need = world.needs[-1]
        assert isinstance(need, Summarize)
        assert need.instructions == expected
        assert outcome.events[0].fields["layer"] == "manual"
        assert outcome.buffer.messages[0].text == "[Conversation compressed]\nSUM"


@pytest.mark.parametrize("tier", ["manual", "auto"])
def test_l_ma_3(tier: str) -> None:
    world = World("SUM")
    outcome = run(tier, buffer(), world)
    assert (outcome.buffer.messages, outcome.succeeded, outcome.error, world.needs) == ((), False, "", [])


# --- restore


def reads(*paths: str) -> Buffer:
    messages = [user("go")]
    for n, path in enumerate(paths):
        messages += [assistant("", (f"c{n}", "read_file", {"path": path})), result(f"c{n}", "then")]
    return buffer(*messages)


def restored_paths(start: Buffer, world: World, settings: LearnSettings = DEFAULT) -> list[str]:
    text = run("auto", start, world, settings).buffer.messages[0].text
    marker = "[Restored after compact] "
    return [line.removeprefix(marker).removesuffix(":") for line in text.split("\n") if line.startswith(marker)]


def test_l_rs_1() -> None:
    world = World("SUM", files={path: f"now {path}" for path in "abcdefg"})
    start = reads(*"abcdefg")
    assert restored_paths(start, world) == ["g", "f", "e", "d", "c"]
    assert world.kinds == ["SaveTranscript", *["ReadFile"] * 5, "Summarize"]
    text = run("auto", start, World("SUM", files={"g": "now g", "f": "now f"})).buffer.messages[0].text
    assert text == (
        "[Conversation compressed]\nSUM\n\n"
        "[Restored after compact] g:\nnow g\n\n[Restored after compact] f:\nnow f"
    )  # fmt: skip


def test_the_first_sighting_from_the_end_wins() -> None:
    assert restored_paths(reads("a", "b", "a", "c"), World("SUM", files=dict.fromkeys("abc", "x"))) == ["c", "a", "b"]
    two = buffer(user("go"), assistant("", ("1", "read_file", {"path": "a"}), ("2", "read_file", {"path": "b"})))
    assert restored_paths(two, World("SUM", files=dict.fromkeys("ab", "x"))) == ["b", "a"]


def test_l_rs_3() -> None:
    assert restored_paths(reads("a", "nope"), World("SUM", files={"a": "x"})) == ["a"]
    missing = reads("a", *(f"gone{n}" for n in range(9)))
    assert restored_paths(missing, World("SUM", files={"a": "x"})) == ["a"]


def test_l_rs_4() -> None:
    world = World("SUM", files={"a": "y" * 24_000})
    text = run("auto", reads("a"), world).buffer.messages[0].text
    assert text.count("y") == 20_000
    assert world.needs[1] == ReadFile("a", 20_000, "then")


def test_who_cannot_look_at_files_answers_with_the_recording() -> None:
    """Unless it was cleared, or was an error."""
    start = reads("a", "b")
    cleared = replace(start.messages[-1], mark="placeholder")
    broken = buffer(*start.messages, assistant("", ("e", "read_file", {"path": "e"})), result("e", "no", error=True))
    answer = rehearsed(offline)
    for one, expected in ((start, ["b", "a"]), (buffer(*start.messages[:-1], cleared), ["a"]), (broken, ["b", "a"])):
        outcome = drive(POLICY.tier("auto", one, DEFAULT, LearnState(), PolicyInput()), answer)
        text = outcome.buffer.messages[0].text
        assert [line.split()[-1][0] for line in text.split("\n") if line.startswith("[Restored")] == expected
        assert outcome.events[0].fields["transcript_path"] == NOT_WRITTEN


def test_the_total_ends_the_walk() -> None:
    world = World("SUM", files=dict.fromkeys("abcde", "y" * 4_000))
    settings = POLICY.settings([("MAX_RESTORE_TOKENS_TOTAL", "2000")])
    assert restored_paths(reads(*"abcde"), world, settings) == ["e", "d"]


def test_only_reading_calls_with_a_path_count() -> None:
    strange: tuple[Json, ...] = ("free text", {"path": 7}, {"path": ""}, None)
    calls = [assistant("", (f"s{n}", "read_file", one)) for n, one in enumerate(strange)]
    other = assistant("", ("o", "write_file", {"path": "a"}))
    assert restored_paths(buffer(user("go"), *calls, other), World("SUM", files={"a": "x"})) == []


# --- large output


def test_l_lo_2() -> None:
    world = World()
    output = "x" * 160_004
    shown = drive(handle_tool_output(output, DEFAULT), world)
    assert world.outputs == [output]
    assert shown == f"Output too large. Saved to: out.txt\nPreview:\n{'x' * 2000}..."
    assert drive(handle_tool_output("x" * 160_003, DEFAULT), world) == "x" * 160_003


def test_l_lo_3() -> None:
    assert drive(handle_tool_output("", DEFAULT), World()) == ""


def test_l_lo_4() -> None:
    world = World()
    world.full_disk = True
    shown = drive(handle_tool_output("x" * 200_000, DEFAULT), world)
    assert "not saved" in shown
    assert shown.endswith("x" * 2000 + "...")


def test_large_results_of_a_list_are_spilled() -> None:
    start = ran(("bash", 160_004), ("bash", 10))
    world = World()
    verdict = POLICY.due(start, DEFAULT, LearnState(), PolicyInput())[3]
    assert (verdict.tier, verdict.due) == ("spill", True)
    first, second = drive(POLICY.run_due(start, DEFAULT, LearnState(), PolicyInput()), world)
    assert (first.tier, second.tier) == ("spill", "micro")
    assert first.changed == {start.messages[2].id: "cut"}
    assert texts(second.buffer.messages)[2].startswith("Output too large. Saved to: out.txt\n")
    assert run("spill", first.buffer, world).buffer is first.buffer


# --- the loop, sub-agents


def say(text: str) -> Answer:
    return Answer(messages=(assistant(text),))


def play(start: Buffer, world: World, settings: LearnSettings = DEFAULT, agent: str = "") -> AgentLoop:
    return play_loop(POLICY, start, world, settings, agent=agent)


def test_l_sa_1() -> None:
    assert not should_compact([user("x" * 900_000)], DEFAULT)
    world = World(answers=(say("sub done"),))
    assert play(buffer(user("x" * 900_000)), world, agent="task").text == "sub done"
    assert "SaveTranscript" not in world.kinds


def test_l_sa_2() -> None:
    """The sub-agent's list goes over the threshold and is compacted, as a whole only (L-SA-4: tests/agent)."""
    chatter = Answer(messages=tuple(assistant("r" * 400, (f"c{n}", "bash", {})) for n in range(7)))
    world = World("SUM", answers=(chatter, say("sub done")))
    agent = play(buffer(user("look")), world, SMALL, agent="task")
    assert [outcome.tier for outcome in agent.outcomes] == ["auto"]
    assert [name for name, _ in world.saved] == ["subagent-task"]  # a file of its own
    assert agent.buffer.messages[0].text == "[Conversation compressed]\nSUM"


def test_a_failed_compaction_ends_the_loop_in_faithful_mode_only() -> None:
    start = buffer(*(user("x" * 400) for _ in range(9)))
    ended = play(start, World(FAIL, answers=(say("done"),)), SMALL)
    assert (ended.error, ended.text) == ("provider_failure", "")
    went_on = play(start, World(FAIL, answers=(say("done"),)), replace(SMALL, mode="safe"))
    assert (went_on.error, went_on.text, went_on.running.failures) == ("", "done", 1)


def test_outputs_are_handled_before_they_enter_the_list() -> None:
    world = World(answers=(Answer(messages=(assistant("", ("c", "bash", {})),)), say("done")))
    settings = replace(DEFAULT, large_output_tokens=1, preview_chars=3)
    done = play(buffer(user("go")), world, settings)
    assert texts(done.buffer.messages)[2] == "Output too large. Saved to: out.txt\nPreview:\nout..."
    assert world.outputs == ["out of bash"]


def test_the_loop_tells_why_the_model_failed() -> None:
    assert play(buffer(user("go")), World()).error == "nobody"


# --- state


def test_state_that_cannot_be_read() -> None:
    unreadable: tuple[Json, ...] = ([], {"breaker": 1}, {"breaker": {"failures": "x"}}, {"breaker": {"open": 1}})
    for bad in unreadable:
        with pytest.raises(InspectorError):
            POLICY.load(DEFAULT, bad)
    assert POLICY.load(DEFAULT, {}) == POLICY.fresh(DEFAULT)
    assert POLICY.learn(LearnState(1), DEFAULT, 1, 2) == LearnState(1)
    with pytest.raises(InspectorError, match="no tier"):
        drive(POLICY.tier("L1", buffer(), DEFAULT, LearnState(), PolicyInput()), Script())
