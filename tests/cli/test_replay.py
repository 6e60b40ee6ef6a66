"""`replay` on the command line: the contract's fields, figures that add up, sweeps, answers from the cache."""

import csv
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from inspector.cli import main as cli
from inspector.core.policies.catalogue import POLICIES
from inspector.simulated.server import SimulatedServer
from inspector.simulated.state import SimulatedServerState

SAMPLE = str(Path(__file__).resolve().parent.parent.parent / "resources" / "sample.jsonl")
ALL = [word for name in POLICIES for word in ("--policy", name)]
Capture = pytest.CaptureFixture[str]


def replay(capsys: Capture, *words: object) -> Any:
    status = cli.main(["replay", *map(str, words), "--json"])
    out = capsys.readouterr()
    assert status == 0, out.err
    assert out.err == ""
    return json.loads(out.out)


@pytest.fixture(scope="module")
def every() -> Any:
    """Every policy over the sample: replayed once."""
    out = io.StringIO()
    with redirect_stdout(out):
        assert cli.main(["replay", SAMPLE, *ALL, "--json"]) == 0
    return json.loads(out.getvalue())


def test_every_field_of_the_contract(every: Any) -> None:
    found = every
    assert [one["policy"] for one in found["policies"]] == ["recorded", *POLICIES]
    for one in found["policies"]:
        assert {"policy", "settings", "requests", "compactions", "totals", "loss"} <= set(one)
        assert {"index", "tokens", "kind", "fired"} <= set(one["requests"][0])
        for step in one["compactions"]:
            assert {"before_request", "tier", "tokens_before", "tokens_after"} <= set(step)
        assert {
            "compactions", "peak", "overflows", "input", "cache_read", "cache_write", "summariser_input",
            "summariser_output", "cost_usd",
        } <= set(one["totals"])  # fmt: skip
        assert {"facts", "kept", "needed_later", "regret"} <= set(one["loss"])


def test_figures_add_up(every: Any) -> None:
    for one in every["policies"]:
        totals, loss, rows = one["totals"], one["loss"], one["requests"]
        for name in (
            "input",
            "cache_read",
            "cache_write",
            "output",
            "summariser_input",
            "summariser_output",
        ):
            assert totals[name] == sum(row[name] for row in rows)
        assert totals["cost_usd"] == pytest.approx(sum(row["cost_usd"] for row in rows))
        assert totals["compactions"] == len(one["compactions"])
        assert totals["peak"] == max(row["tokens"] for row in rows)
        assert totals["overflows"] == sum(row["refused"] is not None for row in rows)
        assert all(
            row["input"] + row["cache_read"] + row["cache_write"] == row["tokens"] for row in rows
        )
        assert loss["facts"] == loss["kept"] + loss["paraphrased"] + loss["lost"]
        assert (
            loss["regret"]
            == len(loss["regrets"])
            == sum(step["regret"] for step in one["compactions"])
        )
        assert loss["needed_later"] <= loss["facts"] - loss["kept"]
        for step in one["compactions"]:
            assert 0 <= step["before_request"] <= len(rows)


def test_before_its_first_compaction_every_policy_equals_the_recording(
    capsys: Capture, every: Any
) -> None:
    cli.main(["info", SAMPLE, "--json"])
    info = json.loads(capsys.readouterr().out)
    reported = [request["reported"] for request in info["requests"]]
    border = info["compactions"][0]["before_request"]
    for one in every["policies"]:
        first = min([step["before_request"] for step in one["compactions"]] + [border])
        assert [row["tokens"] for row in one["requests"]][:first] == reported[:first]
        assert {row["kind"] for row in one["requests"][:first]} <= {"reported"}


def test_what_happened_is_always_the_first_row(capsys: Capture) -> None:
    cli.main(["info", SAMPLE, "--json"])
    info = json.loads(capsys.readouterr().out)
    main = info["totals_by_thread"]["main"]
    for words in ((), ("--policy", "none"), ("--policy", "codex", "--policy", "none")):
        policies = replay(capsys, SAMPLE, *words)["policies"]
        first, totals = policies[0], policies[0]["totals"]
        assert [one["policy"] for one in policies].count("recorded") == 1
        assert (first["policy"], first["settings"]) == ("recorded", {})
        for name in ("input", "cache_read", "cache_write", "cache_write_1h", "output"):
            assert totals[name] == main[name]
        assert [row["tokens"] for row in first["requests"]] == [
            one["reported"] for one in info["requests"]
        ]
        assert [one["before_request"] for one in first["compactions"]] == [79]
        # the calls, and the one for the summary: cheaper than reading it all anew would have been
        assert main["cost_usd"] < totals["cost_usd"] < main["cost_usd"] + 152_241 * 5e-6
    assert cli.main(["replay", SAMPLE, "--policy", "none"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[3].startswith("recorded ")
    assert "%" not in table[3]
    assert "%)" in table[4]


def test_settings_go_to_the_policies_that_have_them(capsys: Capture) -> None:
    words = (
        "--policy",
        "roku",
        "--policy",
        "gemini",
        "--set",
        "microcompact_retain_recent=9",
        "--set",
        "window=90000",
    )
    _, roku, gemini = replay(capsys, SAMPLE, *words)["policies"]
    assert roku["settings"]["microcompact_retain_recent"] == 9
    assert (
        roku["settings"]["context_window_tokens"]
        == gemini["settings"]["context_window_tokens"]
        == 90_000
    )
    safe = replay(capsys, SAMPLE, "--mode", "safe")["policies"][1]
    assert (safe["policy"], safe["settings"]["mode"]) == ("roku", "safe")


def test_a_window_makes_overflows(capsys: Capture) -> None:
    _, plain = replay(capsys, SAMPLE, "--policy", "none", "--window", "100k")["policies"]
    assert plain["totals"]["overflows"] == plain["totals"]["over"] > 0
    found = replay(capsys, SAMPLE, "--policy", "none", "--at", 9)
    assert len(found["policies"][0]["requests"]) == 10


@pytest.mark.parametrize(
    "words",
    [
        ["--set", "nonsense=1"],
        ["--set", "mid_ratio=7"],
        ["--answerer", "nobody"],
        ["--thread", "nobody"],
        ["--policy", "absent.py"],
        ["--csv"],
        ["--sweep", "nonsense=1"],
        ["--sweep", "mid_ratio=0.5", "--policy", "roku", "--policy", "none"],
        ["--sweep", "mid_ratio=0.5", "--answerer", "openai"],
        ["--sweep", "mid_ratio=0.5", "--thread", "nobody"],
    ],
)
def test_expected_failures_are_one_sentence(capsys: Capture, words: list[str]) -> None:
    assert cli.main(["replay", SAMPLE, *words]) == 1
    out = capsys.readouterr()
    assert out.out == ""
    assert len(out.err.strip().splitlines()) == 1


def test_several_files_when_one_is_unreadable_compare_the_others_and_name_it(
    capsys: Capture, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text("no transcript\n", encoding="utf-8")
    words = ["replay", SAMPLE, SAMPLE, str(broken), "--policy", "codex"]
    assert cli.main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    recorded, codex = document["policies"]
    assert (recorded["policy"], recorded["cost"]) == (
        "recorded",
        {"mean": 1.0, "low": 1.0, "high": 1.0},
    )
    assert (codex["policy"], codex["sessions"], codex["infeasible"]) == ("codex", 2, 0)
    assert list(document["errors"]) == [str(broken)]
    assert cli.main(words) == 0
    printed = capsys.readouterr().out
    assert "2 sessions cannot separate policies with similar results" in printed
    assert f"left out: {broken}: " in printed


def test_one_file_says_what_is_infeasible_and_that_one_session_cannot_choose(
    capsys: Capture,
) -> None:
    assert cli.main(["replay", SAMPLE, "--policy", "codex", "--policy", "none"]) == 0
    printed = capsys.readouterr().out
    assert (
        "Infeasible, because requests would not have fitted into the window: none (27 requests too large)."
        in printed
    )
    assert "One session cannot choose a policy" in printed


@pytest.mark.parametrize(
    "words", [["--policy", "nobody"], ["--sweep", "x"], ["--sweep", "x="], ["--jobs", "0"]]
)
def test_wrong_usage_is_2(capsys: Capture, words: list[str]) -> None:
    assert cli.main(["replay", SAMPLE, *words]) == 2


def test_the_table_and_the_regrets(capsys: Capture) -> None:
    names = ("roku", "codex", "none")
    assert (
        cli.main(
            [
                "replay",
                SAMPLE,
                *(word for name in names for word in ("--policy", name)),
                "--regrets",
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    for name in names:
        assert f"\n{name} " in out
        assert f"\n{name}: " in out
    assert "read again for 1,640 tokens" in out


SWEEP = ("--sweep", "mid_ratio=0.3,0.6", "--sweep", "microcompact_retain_recent=1,9", "--jobs", "1")


def test_a_sweep_as_json_as_csv_as_a_table_and_as_a_heat_map(
    tmp_path: Path, capsys: Capture
) -> None:
    target = tmp_path / "map.svg"
    found = replay(capsys, SAMPLE, *SWEEP, "--heatmap", target)
    assert [point["set"] for point in found["grid"]][1] == {
        "mid_ratio": "0.3",
        "microcompact_retain_recent": "9",
    }
    assert [cell["regret"] for cell in found["cells"]] == [
        point["regret"] for point in found["grid"]
    ]
    assert cli.main(["replay", SAMPLE, *SWEEP, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [int(row["regret"]) for row in rows] == [cell["regret"] for cell in found["cells"]]
    assert cli.main(["replay", SAMPLE, *SWEEP]) == 0
    assert capsys.readouterr().out.count("\n") == 7
    drawn = ElementTree.fromstring(target.read_text("utf-8"))
    texts = [one.text or "" for one in drawn.iter() if one.tag.endswith("text")]
    assert [text.split(" of ")[0] for text in texts if "down:" in text] == ["cost", "regret"]
    assert any(text.startswith("$") for text in texts)
    assert cli.main(["replay", SAMPLE, "--sweep", "mid_ratio=0.3", "--heatmap", str(target)]) == 1
    assert "exists" in capsys.readouterr().err


def test_a_second_run_with_a_model_costs_no_call(capsys: Capture) -> None:
    with SimulatedServer(SimulatedServerState(remember=100)) as server:
        url = f"{server.url}/v1"
        words = (
            SAMPLE,
            "--policy",
            "codex",
            "--answerer",
            url,
            "--model",
            "simulated",
            "--set",
            "auto_limit=90000",
        )
        first = replay(capsys, *words)
        asked = len(server.world.seen)
        assert asked > 0
        assert first["policies"][1]["totals"]["summariser_calls"] == asked
        assert replay(capsys, *words) == first
        assert len(server.world.seen) == asked
        replay(capsys, *words, "--no-cache")
        assert len(server.world.seen) == 2 * asked
