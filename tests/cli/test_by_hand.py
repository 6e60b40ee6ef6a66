"""Made sessions whose numbers were counted by hand, as a doubter would: every figure below was worked out from the
records, never copied from the program. Prices of claude-sonnet-4-5 per million: 3 in, 3.75 and 6 written (five minutes,
an hour), 0.30 read, 15 out; of claude-opus-4-5: 6.25 written, 5 in, 25 out.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main as cli

SONNET, OPUS = "claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101"
RULE, PORT = "Never touch the vendor folder.", "Port must stay 48213."


class MadeSession:
    """Records of Claude Code 2.1.20, a second apart."""

    def __init__(self, path: Path) -> None:
        self.path, self.records = path, list[dict[str, Any]]()
        self.now, self.last = 0, ""

    def record(self, kind: str, **values: Any) -> None:
        self.now += 1
        time = f"2026-03-01T{10 + self.now // 3600:02}:{self.now // 60 % 60:02}:{self.now % 60:02}.000Z"
        name = f"u{len(self.records)}"
        frame = {
            "type": kind,
            "uuid": name,
            "parentUuid": self.last or None,
            "timestamp": time,
            "sessionId": "5e55",
        }
        self.records.append(
            {**frame, "isSidechain": False, "version": "2.1.20", "cwd": "/p", **values}
        )
        self.last = name

    def user(self, text: str, **values: Any) -> None:
        self.record("user", message={"role": "user", "content": text}, **values)

    def answer(
        self, read: int = 0, five: int = 0, hour: int = 0, text: str = "ok", **values: Any
    ) -> None:
        """Three tokens of input that no cache knows, fifty of output."""
        usage = {
            "input_tokens": 3,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": five + hour,
            "cache_creation": {
                "ephemeral_5m_input_tokens": five,
                "ephemeral_1h_input_tokens": hour,
            },
            "output_tokens": 50,
        }
        calls = [
            {"type": "tool_use", "id": f"c{self.now}", "name": name, "input": arguments}
            for name, arguments in values.pop("calls", ())
        ]
        message = {
            "id": values.pop("id", f"m{self.now}"),
            "role": "assistant",
            "model": values.pop("model", SONNET),
            "content": [{"type": "text", "text": text}, *calls],
            "stop_reason": values.pop("stop_reason", "tool_use" if calls else "end_turn"),
            "usage": values.pop("usage", usage),
        }
        name = f"c{self.now}"
        self.record("assistant", message=message, **values)
        if calls:
            self.called = name

    def result(self, text: str, error: bool = False) -> None:
        told = {
            "type": "tool_result",
            "tool_use_id": self.called,
            "content": text,
            "is_error": error,
        }
        self.record("user", message={"role": "user", "content": [told]})

    def compact(self, summary: str, before: int) -> None:
        self.last = ""
        self.record(
            "system",
            subtype="compact_boundary",
            compactMetadata={"trigger": "auto", "preTokens": before},
        )
        self.user(f"This session is being continued.\n{summary}", isCompactSummary=True)

    def written(self) -> str:
        self.path.write_text(
            "\n".join(json.dumps(one, ensure_ascii=False) for one in self.records) + "\n", "utf-8"
        )
        return str(self.path)


@pytest.fixture
def made(tmp_path: Path) -> MadeSession:
    return MadeSession(tmp_path / "session.jsonl")


class Asked:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, command: str, made: MadeSession, *more: str) -> Any:
        assert cli.main([command, made.written(), *more]) == 0
        assert self._capsys.readouterr().out  # for people
        assert cli.main([command, made.written(), "--json", *more]) == 0
        return json.loads(self._capsys.readouterr().out)


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Asked:
    return Asked(capsys)


def test_both_kinds_of_writes_in_one_session(made: MadeSession, ask: Asked) -> None:
    """Ten minutes do not matter to what was written for an hour, seventy do."""
    made.user("hello there my friend")
    made.answer(five=1_000, hour=29_000)
    made.now += 600
    made.user("next one please")
    made.answer(read=29_000, five=2_000)
    made.now += 4_200
    made.user("later on please")
    made.answer(five=3_000, hour=29_500)
    found = ask("cost", made)
    assert found["total"] == pytest.approx(
        (6_000 * 3.75 + 58_500 * 6 + 29_000 * 0.3 + 9 * 3 + 150 * 15) / 1e6
    )
    ((broken),) = found["breaks"]
    assert (broken["request"], broken["tokens"], broken["cause"]) == (2, 31_000, "expired")
    totals = ask("info", made)["totals"]
    assert (totals["cache_write_5m"], totals["cache_write_1h"], totals["cache_read"]) == (
        6_000,
        58_500,
        29_000,
    )


def test_another_model_and_back(made: MadeSession, ask: Asked) -> None:
    for text, read, five, model in (
        ("one", 0, 40_000, SONNET),
        ("two", 40_000, 500, SONNET),
        ("three", 0, 41_500, OPUS),
        ("four", 40_500, 1_300, SONNET),
    ):
        made.user(f"number {text} please")
        made.answer(read=read, five=five, model=model)
    found = ask("cost", made)
    sonnet = (41_800 * 3.75 + 80_500 * 0.3 + 9 * 3 + 150 * 15) / 1e6
    assert found["total"] == pytest.approx(sonnet + (41_500 * 6.25 + 3 * 5 + 50 * 25) / 1e6)
    assert [(one["request"], one["tokens"], one["cause"]) for one in found["breaks"]] == [
        (2, 40_500, "model-changed")
    ]


def test_an_answer_in_pieces_counts_once_and_one_that_failed_not_at_all(
    made: MadeSession, ask: Asked
) -> None:
    made.user("hello there my friend")
    made.answer(five=30_000, id="same")
    made.answer(five=30_000, id="same", calls=[("Bash", {"command": "ls"})])
    made.result("a b c")
    made.answer(
        usage={"input_tokens": 0, "output_tokens": 0},
        model="<synthetic>",
        text="API Error: overloaded",
    )
    made.user("again please")
    made.answer(read=30_000, five=600)
    found = ask("info", made)
    assert [one["reported"] for one in found["requests"]] == [30_003, 30_603]
    assert found["totals"]["cost_usd"] == pytest.approx(
        (30_600 * 3.75 + 30_000 * 0.3 + 6 * 3 + 100 * 15) / 1e6
    )


def test_a_rule_is_followed_through_two_summaries(made: MadeSession, ask: Asked) -> None:
    made.user(f"{RULE} {PORT}")
    made.answer(five=30_000)
    made.compact(f"The user said: {RULE} The port must stay 48213.", 30_053)
    made.user("next")
    made.answer(five=9_000)
    made.compact("Work continues on the server.", 9_053)
    made.user("next")
    made.answer(five=9_000, calls=[("Bash", {"command": "rm vendor/x.c"})])
    made.result("")
    made.answer(read=9_000, five=100, text="It listens on 48213.")
    first, second = (one["facts"] for one in ask("lost", made)["compactions"])
    assert first == {"before": 3, "kept": 3, "paraphrased": 0, "lost": 0, "needed_again": 0}
    # the rule about the port also stands in the words of the first summary
    assert second == {"before": 4, "kept": 0, "paraphrased": 0, "lost": 4, "needed_again": 1}
    rules = {one["text"]: one for one in ask("pins", made)["pins"]}
    for text in (RULE, PORT):
        states = [(one["from"], one["to"], one["state"]) for one in rules[text]["recorded"]]
        assert states == [(0, 0, "verbatim"), (1, 1, "verbatim"), (2, 3, "gone")]


def test_a_summary_in_chinese(made: MadeSession, ask: Asked) -> None:
    made.user(
        "不要动 migrations 目录里的任何文件。提交信息必须用英文写。接口的超时时间必须是 45 秒。"
    )
    made.answer(five=20_000, text="我决定用指数退避而不是固定间隔来重试。")
    made.compact(
        "- 用户要求：不要修改 migrations 目录里的任何文件\n- 接口的超时时间必须是 60 秒", 20_053
    )
    made.user("再说一下：提交信息必须用英文写")
    made.answer(
        five=9_000,
        calls=[("Edit", {"file_path": "/p/migrations/1.py", "old_string": "a", "new_string": "b"})],
    )
    made.result("done")
    made.answer(read=9_000, five=90)
    (found,) = ask("lost", made)["compactions"]
    assert {one["text"]: one["fate"] for one in found["lost"]} == {
        "不要动 migrations 目录里的任何文件。": "paraphrased",
        "接口的超时时间必须是 45 秒。": "lost",
        "我决定用指数退避而不是固定间隔来重试。": "lost",
    }
    assert found["facts"] == {
        "before": 4,
        "kept": 1,
        "paraphrased": 1,
        "lost": 2,
        "needed_again": 0,
    }
    pins = {one["text"]: one for one in ask("pins", made)["pins"]}
    assert pins["提交信息必须用英文写。"]["recorded"][-1]["state"] == "verbatim"


def test_what_ends_or_begins_with_a_compaction(made: MadeSession, ask: Asked) -> None:
    made.compact("The user wants lib/a.c.", 150_000)
    made.user("go on please")
    made.answer(five=9_000)
    assert ask("info", made)["summary"][1:] == [
        "The session begins after a compaction. What that lost is not in this file.",
        "The session cost $0.03.",
    ]
    made.compact("Nothing was said.", 9_053)
    (found,) = ask("lost", made, "--compaction", "-1")["compactions"]
    assert found["tokens_after"] == ask("breakdown", made, "--at", "end")["tree"]["tokens"]
    # Nothing came after it that could save.
    assert ask("info", made)["summary"][2] == "The session cost $0.03."


def test_a_compaction_that_the_provider_made_while_it_answered(
    made: MadeSession, ask: Asked
) -> None:
    made.user("go on please")
    block = {"type": "compaction", "content": "The user wants lib/a.c."}
    made.record(
        "assistant", message={"role": "assistant", "id": "m1", "model": SONNET, "content": [block]}
    )
    made.answer(five=900)
    said = "The provider compacted inside a call. What that lost is not known."
    assert ask("info", made)["summary"][1] == said


def test_a_file_read_by_ranges_of_lines(made: MadeSession, ask: Asked) -> None:
    """Lines 50 to 100 stand there three times, 1 to 49 twice, the rest once."""
    lines = [f"    value_{n} = compute_something({n}, mode='fast')" for n in range(151)]
    made.user("please look at the file")
    for first, last in ((1, 100), (50, 150), (1, 100)):
        made.answer(
            calls=[("Read", {"file_path": "/p/a.py", "offset": first, "limit": last - first + 1})]
        )
        made.result("".join(f"{n:6}\t{lines[n]}\n" for n in range(first, last + 1)))
    made.answer()
    found = ask("breakdown", made)
    assert [(one["what"], one["times"], one["free"]) for one in found["repeats"]] == [
        (f"/p/a.py lines {where}", times, one["tokens_each"] * (times - 1))
        for one, (where, times) in zip(found["repeats"], (("50-100", 3), ("1-49", 2)), strict=True)
    ]
    assert sum(one["tokens"] for one in found["tree"]["children"]) == found["tree"]["tokens"]


def test_a_rule_that_is_said_again_with_another_end_sign_is_one_pin(
    made: MadeSession, ask: Asked
) -> None:
    made.user("不要动 config/prod.yaml 文件。")
    made.answer(five=9_000)
    made.user("不要动 config/prod.yaml 文件！")
    made.answer(read=9_000, five=90)
    found = [one for one in ask("pins", made)["pins"] if one["found"] == "constraint"]
    assert [(one["text"], one["violations"]) for one in found] == [
        ("不要动 config/prod.yaml 文件。", [])
    ]


def test_compactions_in_a_row_that_never_pay(made: MadeSession, ask: Asked) -> None:
    made.user("please keep going with the long job")
    made.answer(five=150_000)
    for _ in range(4):
        made.compact("Work.", 150_053)
        made.user("go on")
        made.answer(five=148_000)
    found = ask("cost", made)
    assert found["total"] == pytest.approx((742_000 * 3.75 + 15 * 3 + 250 * 15) / 1e6)
    assert [(one["before_request"], one["paid"]) for one in found["compactions"]] == [
        (n, False) for n in range(1, 5)
    ]
    assert [(one["from"], one["to"], one["compactions"]) for one in found["thrash"]] == [(1, 4, 4)]
    assert {one["cause"] for one in found["breaks"]} == {"compaction"}
    said = ask("info", made)["summary"][2]
    assert said.startswith(
        "The session cost $2.79. Every cache miss followed a compaction. 0 of 4 compactions paid for themselves, "
        "costing $2.22 more compared with no compaction."
    )


def test_a_sub_agent_that_compacts_by_itself(made: MadeSession, ask: Asked) -> None:
    """Its rule and its loss are its own; the bill is everybody's."""
    made.user("start the work please")
    made.answer(
        five=30_000,
        calls=[("Task", {"description": "look", "prompt": "Never edit lib/one.c, find it"})],
    )
    main, called = made.last, made.called
    agent: dict[str, Any] = {"isSidechain": True, "agentId": "ag1"}
    made.last = ""
    made.user("Never edit lib/one.c, find it", **agent)
    made.answer(five=9_000, **agent)
    start = len(made.records)
    made.compact("Work.", 9_053)
    made.answer(
        five=4_000,
        calls=[("Edit", {"file_path": "lib/one.c", "old_string": "a", "new_string": "b"})],
        **agent,
    )
    made.result("done")
    made.answer(read=4_000, five=100, **agent)
    for one in made.records[start:]:
        one.update(agent)
    made.last, made.called = main, called
    made.result("done")
    made.answer(read=30_000, five=300)
    assert [(one["id"], one["requests"]) for one in ask("info", made)["threads"]] == [
        ("main", 2),
        ("ag1", 3),
    ]
    assert ask("lost", made)["compactions"] == []
    (found,) = ask("lost", made, "--thread", "ag1")["compactions"]
    assert found["facts"] == {
        "before": 2,
        "kept": 0,
        "paraphrased": 0,
        "lost": 2,
        "needed_again": 1,
    }
    (pin,) = ask("pins", made, "--thread", "ag1")["pins"]
    assert [(one["from"], one["to"], one["state"]) for one in pin["recorded"]] == [
        (0, 0, "verbatim"),
        (1, 2, "gone"),
    ]
    total = (43_400 * 3.75 + 34_000 * 0.3 + 15 * 3 + 250 * 15) / 1e6
    assert ask("cost", made)["total"] == pytest.approx(total)


def test_an_answer_that_was_still_being_written_cost_at_least_that(
    made: MadeSession, ask: Asked
) -> None:
    made.user("go on")
    made.answer(five=100_000, stop_reason=None)
    assert ask("cost", made)["output_is_final"] is False
    assert ask("info", made)["summary"][2].startswith("The session cost at least $0.38.")


def test_an_unfinished_answer_of_next_to_nothing(made: MadeSession, ask: Asked) -> None:
    made.user("go on")
    made.answer(five=100, stop_reason=None)
    assert ask("info", made)["summary"][2] == "The session cost at least $0.0011."
