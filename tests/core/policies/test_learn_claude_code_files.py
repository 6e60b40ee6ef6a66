"""learn-claude-code: files that are read again, large outputs, sub-agents."""

from dataclasses import replace

from inspector.core.answering import NOT_WRITTEN, offline, rehearsed
from inspector.core.buffer import Buffer
from inspector.core.message import Json
from inspector.core.needs import (
    Answer,
    ReadFile,
    drive,
)
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.learn_claude_code import POLICY
from inspector.core.policies.learn_claude_code.layers import (
    handle_tool_output,
    is_worth_compacting,
)
from inspector.core.policies.learn_claude_code.settings import LearnSettings, LearnState
from tests.core.policies.build import AgentLoop, assistant, buffer, play_loop, result, texts, user
from tests.core.policies.learning import DEFAULT, FAIL, SMALL, World, ran, run


def reads(*paths: str) -> Buffer:
    messages = [user("go")]
    for n, path in enumerate(paths):
        messages += [assistant("", (f"c{n}", "read_file", {"path": path})), result(f"c{n}", "then")]
    return buffer(*messages)


def restored_paths(start: Buffer, world: World, settings: LearnSettings = DEFAULT) -> list[str]:
    text = run("auto", start, world, settings).buffer.messages[0].text
    marker = "[Restored after compact] "
    return [
        line.removeprefix(marker).removesuffix(":")
        for line in text.split("\n")
        if line.startswith(marker)
    ]


def test_restored_files_when_seven_were_read_are_the_newest_five() -> None:
    world = World("SUM", files={path: f"now {path}" for path in "abcdefg"})
    start = reads(*"abcdefg")
    assert restored_paths(start, world) == ["g", "f", "e", "d", "c"]
    assert world.kinds == ["SaveTranscript", *["ReadFile"] * 5, "Summarize"]
    text = (
        run("auto", start, World("SUM", files={"g": "now g", "f": "now f"})).buffer.messages[0].text
    )
    assert text == (
        "[Conversation compressed]\nSUM\n\n"
        "[Restored after compact] g:\nnow g\n\n[Restored after compact] f:\nnow f"
    )  # fmt: skip


def test_the_first_sighting_from_the_end_wins() -> None:
    assert restored_paths(
        reads("a", "b", "a", "c"), World("SUM", files=dict.fromkeys("abc", "x"))
    ) == ["c", "a", "b"]
    two = buffer(
        user("go"),
        assistant("", ("1", "read_file", {"path": "a"}), ("2", "read_file", {"path": "b"})),
    )
    assert restored_paths(two, World("SUM", files=dict.fromkeys("ab", "x"))) == ["b", "a"]


def test_restored_files_when_one_is_missing_are_the_others() -> None:
    assert restored_paths(reads("a", "nope"), World("SUM", files={"a": "x"})) == ["a"]
    missing = reads("a", *(f"gone{n}" for n in range(9)))
    assert restored_paths(missing, World("SUM", files={"a": "x"})) == ["a"]


def test_restored_file_when_it_is_large_is_cut() -> None:
    world = World("SUM", files={"a": "y" * 24_000})
    text = run("auto", reads("a"), world).buffer.messages[0].text
    assert text.count("y") == 20_000
    assert world.needs[1] == ReadFile("a", 20_000, "then")


def test_who_cannot_look_at_files_answers_with_the_recording() -> None:
    """Unless it was cleared, or was an error."""
    start = reads("a", "b")
    cleared = replace(start.messages[-1], mark="placeholder")
    broken = buffer(
        *start.messages,
        assistant("", ("e", "read_file", {"path": "e"})),
        result("e", "no", error=True),
    )
    answer = rehearsed(offline)
    for one, expected in (
        (start, ["b", "a"]),
        (buffer(*start.messages[:-1], cleared), ["a"]),
        (broken, ["b", "a"]),
    ):
        outcome = drive(POLICY.tier("auto", PolicyContext(one, DEFAULT, LearnState())), answer)
        text = outcome.buffer.messages[0].text
        assert [
            line.split()[-1][0] for line in text.split("\n") if line.startswith("[Restored")
        ] == expected
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


def test_large_output_when_it_is_saved_leaves_a_preview() -> None:
    world = World()
    output = "x" * 160_004
    shown = drive(handle_tool_output(output, DEFAULT), world)
    assert world.outputs == [output]
    assert shown == f"Output too large. Saved to: out.txt\nPreview:\n{'x' * 2000}..."
    assert drive(handle_tool_output("x" * 160_003, DEFAULT), world) == "x" * 160_003


def test_large_output_when_it_is_empty_is_unchanged() -> None:
    assert drive(handle_tool_output("", DEFAULT), World()) == ""


def test_large_output_when_saving_fails_leaves_a_preview() -> None:
    world = World()
    world.full_disk = True
    shown = drive(handle_tool_output("x" * 200_000, DEFAULT), world)
    assert "not saved" in shown
    assert shown.endswith("x" * 2000 + "...")


def test_large_results_of_a_list_are_spilled() -> None:
    start = ran(("bash", 160_004), ("bash", 10))
    world = World()
    verdict = POLICY.due(PolicyContext(start, DEFAULT, LearnState()))[3]
    assert (verdict.tier, verdict.due) == ("spill", True)
    first, second = drive(POLICY.run_due(PolicyContext(start, DEFAULT, LearnState())), world)
    assert (first.tier, second.tier) == ("spill", "micro")
    assert first.changed == {start.messages[2].id: "cut"}
    assert texts(second.buffer.messages)[2].startswith("Output too large. Saved to: out.txt\n")
    assert run("spill", first.buffer, world).buffer is first.buffer


def say(text: str) -> Answer:
    return Answer(messages=(assistant(text),))


def play(
    start: Buffer, world: World, settings: LearnSettings = DEFAULT, agent: str = ""
) -> AgentLoop:
    return play_loop(POLICY, start, world, settings, agent=agent)


def test_sub_agent_when_it_has_only_its_prompt_is_not_compacted() -> None:
    assert not is_worth_compacting([user("x" * 900_000)], DEFAULT)
    world = World(answers=(say("sub done"),))
    assert play(buffer(user("x" * 900_000)), world, agent="task").text == "sub done"
    assert "SaveTranscript" not in world.kinds


def test_sub_agent_when_over_the_threshold_is_compacted_as_a_whole() -> None:
    """The sub-agent's list goes over the threshold and is compacted, as a whole only."""
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
