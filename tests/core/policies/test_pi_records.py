"""What Pi's own file holds beside the messages, by way of the command line: metadata, commands, branches, failures."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main as cli

HEADER = {"type": "session", "version": 3, "id": "s", "cwd": "/x", "timestamp": ""}
Record = dict[str, Any]


def said(role: str, *texts: str, **fields: Any) -> Record:
    content = [{"type": "text", "text": text} for text in texts]
    return {"type": "message", "message": {"role": role, "content": content, **fields}}


def user(tokens: int = 100) -> Record:
    return said("user", "x" * 4 * tokens)


def answer(tokens: int = 100, **fields: Any) -> Record:
    return said("assistant", "y" * 4 * tokens, **{"stopReason": "stop", **fields})


def call(name: str) -> Record:
    one = said("assistant", stopReason="toolUse")
    one["message"]["content"].append(
        {"type": "toolCall", "id": name, "name": "read", "arguments": {"path": "a.py"}}
    )
    return one


def result(name: str, *texts: str) -> Record:
    return said("toolResult", *texts, toolCallId=name, toolName="read", isError=False)


def bash(tokens: int = 100, **fields: Any) -> Record:
    ran = {"role": "bashExecution", "command": "", "output": "z" * 4 * tokens, "exitCode": 0}
    return {"type": "message", "message": {**ran, **fields}}


CHANGE, LEVEL = (
    {"type": "model_change", "modelId": "m"},
    {"type": "thinking_level_change", "thinkingLevel": "high"},
)


def compaction(first: str, summary: str = "OLD") -> Record:
    return {"type": "compaction", "summary": summary, "firstKeptEntryId": first, "tokensBefore": 9}


def saved(folder: Path, *records: Record) -> Path:
    """A session of these, with the ids e0, e1, ..."""
    path = folder / "s.jsonl"
    lines = [HEADER]
    for n, one in enumerate(records):
        lines.append(
            {**one, "id": f"e{n}", "parentId": f"e{n - 1}" if n else None, "timestamp": ""}
        )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


class Steps:
    """`step` on a made session."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._capsys = folder, capsys

    def __call__(self, *records: Record, keep: int = 150, words: tuple[str, ...] = ()) -> Any:
        path = saved(self._folder, *records)
        chosen = [
            "--policy",
            "pi",
            "--at",
            "end",
            "--tier",
            "compact",
            "--set",
            f"keepRecentTokens={keep}",
            "--json",
        ]
        assert cli.main(["step", str(path), *chosen, *words]) == 0
        return json.loads(self._capsys.readouterr().out)

    def prepared(self, *records: Record, keep: int = 150, words: tuple[str, ...] = ()) -> Any:
        """(first kept, to summarise, turn prefix, split) of what the tier prepared; None where that was nothing."""
        for event in self(*records, keep=keep, words=words)["events"]:
            if event["name"] == "session_before_compact":
                told = event["preparation"]
                names = (
                    "firstKeptEntryId",
                    "messagesToSummarize",
                    "turnPrefixMessages",
                    "isSplitTurn",
                )
                return tuple(told[name] for name in names)
        return None


@pytest.fixture
def steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Steps:
    return Steps(tmp_path, capsys)


@pytest.mark.parametrize("keep", [1, 150, 100_000])
def test_step_when_the_session_ends_in_a_compaction_does_nothing(steps: Steps, keep: int) -> None:
    done = steps(user(), answer(), user(), answer(), compaction("e2"), keep=keep)
    assert (done["needs"], done["fates"][0]["fate"], done["error"]) == ([], "kept", None)
    assert [one["summary"] for one in done["after"]["messages"]] == [True, False, False]
    assert [event["name"] for event in done["events"]] == [
        "auto_compaction_start",
        "auto_compaction_end",
    ]
    assert (
        steps.prepared(user(), answer(), compaction("e0"), user(), answer(), keep=keep) is not None
        or keep > 150
    )


def test_cut_when_metadata_precedes_the_kept_part_includes_it(steps: Steps) -> None:
    assert steps.prepared(user(), answer(), CHANGE, LEVEL, user(), answer()) == ("e2", 0, 2, True)
    assert steps.prepared(user(), answer(), user(), answer()) == ("e2", 2, 0, False)


@pytest.mark.parametrize("profile", ["seed", "upstream"])
def test_cut_at_a_command_of_the_user_splits_an_empty_turn(steps: Steps, profile: str) -> None:
    words = ("--set", f"profile={profile}")
    assert steps.prepared(user(), answer(), bash(), keep=100, words=words) == ("e2", 2, 0, True)
    assert steps.prepared(user(), answer(), bash(99), keep=100, words=words) == ("e1", 0, 1, True)


def test_a_command_that_the_user_kept_to_himself_counts_and_is_not_told(steps: Steps) -> None:
    records = (user(), answer(), bash(excludeFromContext=True), user(40), answer(40))
    assert steps.prepared(*records, keep=150) == ("e2", 2, 0, True)
    told = steps(*records, keep=80)
    assert "zzzz" not in "".join(need["request"]["text"] for need in told["needs"])
    assert len(told["after"]["messages"]) == 3


def test_a_command_that_the_user_kept_to_himself_when_summarised_is_one_of_the_messages(
    steps: Steps,
) -> None:
    """Upstream leaves it out of the text only: a turn that begins with nothing else has a call of its own."""
    private = bash(excludeFromContext=True)
    assert steps.prepared(user(), private, answer(), user(), answer()) == ("e3", 3, 0, False)
    records = (user(), answer(), private, answer())
    assert steps.prepared(*records, keep=100) == ("e3", 2, 1, True)
    history, prefix = steps(*records, keep=100)["needs"]
    assert (history["request"]["purpose"], prefix["request"]["purpose"]) == (
        "history",
        "turn prefix",
    )
    assert prefix["request"]["text"].startswith("<conversation>\n\n</conversation>")


def test_a_branch_that_was_left_counts_nothing(steps: Steps) -> None:
    branch = {"type": "branch_summary", "summary": "s" * 400, "fromId": "e1"}
    assert steps.prepared(user(), answer(), branch, answer(), answer(), keep=250) == (
        "e1",
        0,
        1,
        True,
    )
    assert steps.prepared(user(), answer(), branch, answer(), answer(), keep=150) == (
        "e2",
        2,
        0,
        True,
    )
    newest = ("--set", "profile=newest")
    assert steps.prepared(user(), answer(), branch, answer(), answer(), keep=250, words=newest) == (
        "e2",
        2,
        0,
        False,
    )


def test_the_summariser_is_told_what_a_failed_answer_said(steps: Steps) -> None:
    done = steps(user(), answer(20, stopReason="error"), answer(), user(), answer())
    (need,) = done["needs"]
    assert f"[Assistant]: {'y' * 80}\n\n[Assistant]: {'y' * 400}" in need["request"]["text"]
    assert [one["role"] for one in done["after"]["messages"]] == ["user", "user", "assistant"]
    kept = steps(user(), answer(), user(), answer(20, stopReason="aborted"), answer())
    # It is not sent again.
    assert [one["role"] for one in kept["after"]["messages"]] == ["user", "user", "assistant"]


def test_preparation_after_a_recorded_compaction_summarises_what_that_kept(steps: Steps) -> None:
    records = (
        user(),
        answer(),
        user(),
        answer(),
        compaction("e2"),
        user(),
        answer(),
        user(),
        answer(),
    )
    assert steps.prepared(*records) == ("e7", 4, 0, False)
    assert steps.prepared(*records, words=("--set", "legacy_start=true")) == ("e7", 2, 0, False)
    legacy = steps(*records, words=("--set", "legacy_start=true"))
    assert [one["fate"] for one in legacy["fates"]].count(
        "dropped"
    ) == 2  # what that one kept is lost
    assert "<previous-summary>\nOLD\n</previous-summary>" in legacy["needs"][0]["request"]["text"]


def test_what_a_recorded_compaction_kept_is_older_than_it(steps: Steps) -> None:
    """Metadata does not travel over the compaction, though the buffer shows none of the two."""
    records = (user(), answer(), user(), compaction("e2"), CHANGE, user(), answer())
    assert steps.prepared(*records) == ("e4", 0, 1, True)


def test_the_text_blocks_of_a_result_are_joined_by_nothing(steps: Steps) -> None:
    done = steps(user(), call("c"), result("c", "one", "two"), answer(), user(), answer())
    assert "[Tool result]: onetwo\n\n" in done["needs"][0]["request"]["text"]
    before = steps(user(10), call("c"), result("c", "abcd", "efgh"), keep=10_000)
    assert before["before"]["messages"] == 3
    assert before["verdicts"][0]["tokens"] == 10 + 10 + 10 + 2 + 10  # characters / 4 + 10 a message
    cut = (user(10), call("c"), result("c", "x" * 396, "y" * 4), user(1), answer(49))
    assert steps.prepared(*cut, keep=150) == ("e3", 3, 0, False)
    assert steps.prepared(*cut, keep=151) == ("e1", 0, 1, True)


def test_a_message_between_a_call_and_its_result_may_be_cut_at(steps: Steps) -> None:
    records = (user(10), call("c"), user(100), result("c", "x" * 400))
    assert steps.prepared(*records) == ("e2", 2, 0, False)


# -- the newest


NEWEST = ("--set", "profile=newest")


def test_a_profile_names_its_version(steps: Steps) -> None:
    for profile, version in (("seed", "0.58"), ("upstream", "0.73"), ("newest", "1.5")):
        done = steps(user(), answer(), words=("--set", f"profile={profile}"))
        assert f"by the rules of pi {version}" in done["verdicts"][0]["why"]


def test_the_newest_cuts_before_results_that_are_too_large(steps: Steps) -> None:
    records = (user(), answer(), user(), call("c"), result("c", "x" * 8_000))
    assert steps.prepared(*records, keep=1_000, words=NEWEST) == ("e3", 2, 1, True)
    assert steps.prepared(*records, keep=1_000) is None


def test_the_newest_counts_the_images_of_the_user(steps: Steps) -> None:
    shown = user(10)
    shown["message"]["content"].append({"type": "image", "mimeType": "image/png", "data": "aGk="})
    records = (user(), answer(), shown, answer(10))
    for profile, tokens in (("upstream", 220), ("newest", 1_420)):
        assert (
            steps(*records, words=("--set", f"profile={profile}"))["verdicts"][0]["tokens"]
            == tokens
        )
    assert steps.prepared(*records, keep=1_220, words=NEWEST) == ("e2", 2, 0, False)
    assert steps.prepared(*records, keep=1_220) is None


def test_the_newest_asks_without_a_limit_and_without_thoughts(steps: Steps) -> None:
    thought = answer()
    thought["message"]["content"].insert(0, {"type": "thinking", "thinking": "hm"})
    records = (compaction(""), user(), thought, answer(), answer())
    words = (*NEWEST, "--instructions", "the API")
    (need,) = steps(*records, keep=100, words=words)["needs"]
    request = need["request"]
    assert (request["purpose"], request["max_tokens"]) == ("turn prefix", None)
    assert request["text"].startswith("# Conversation\n[User]: xxx")
    assert request["text"].endswith("Additional focus: the API")
    assert "thinking" not in request["text"]
    after = steps(*records, keep=100, words=NEWEST)["after"]["messages"][0]["parts"][0]["text"]
    # The former one is not lost.
    assert "<summary>\nOLD\n\n---\n\n**Turn Context (split turn):**\n\n" in after
