"""What a recorded compaction or a silent drop lost: which fate, in which order, and what was needed again."""

from dataclasses import replace
from pathlib import Path

import pytest

from inspector.cli.lost import describe, losses_document, lost_lines, run
from inspector.cli.main import main
from inspector.cli.replay import describe as described
from inspector.cli.replay import policies_lines, regrets_lines
from inspector.core.buffer import Stretch
from inspector.core.facts.fact import KINDS, Fact
from inspector.core.findings.answers import describe_losses
from inspector.core.findings.lost import (
    CompactionLoss,
    RecordedLosses,
    lost_between,
    lost_by_compactions,
    recorded_losses,
)
from inspector.core.findings.lost_rows import LostRow, NeededAgain, shown_lines
from inspector.core.message import Message, Text
from inspector.core.replay.driver import Ground
from inspector.core.replay.pins import describe_fate
from inspector.core.replay.recorded_report import recorded
from inspector.core.session import Compaction, Request, Session, Thread
from inspector.core.usage import Usage
from inspector.transcripts.files import open_transcript
from tests.core.policies.build import assistant, result, user

SAMPLE = Path(__file__).parents[3] / "resources" / "sample.jsonl"
ASKED = user("Keep the importers small. Never touch migrations/0001_rates.py please.")
READ = assistant(
    "We decided to store rates per day.", ("c1", "Read", {"file_path": "/home/dev/ledger/rates.py"})
)
TOLD = result(
    "c1", "1\tclass RateBook:\n2\t    quoted_day = 1\nsee src/writer_map.py and ledger/rates.py"
)
FAILED = result("c2", "RateError: no rate for 2026-11-01 in the table")


def thread(summary: str, *later: Message, announced: bool = True) -> Thread:
    """Two requests before the compaction, then one for each later message."""
    before = Stretch(own=[ASKED])
    requests = [Request(0, before.view())]
    before.append(READ, TOLD, FAILED)
    requests.append(Request(1, before.view()))
    told = Message("s", "user", (Text(summary),), summary=announced)
    after = Stretch(own=[told])
    requests.append(Request(2, after.view()))
    for n, message in enumerate(later, 3):
        after.append(message)
        requests.append(Request(n, after.view()))
    made = [Compaction(2, "auto", summary=told)] if announced else []
    messages = [ASKED, READ, TOLD, FAILED, told, *later]
    return Thread("main", requests=requests, messages=messages, end=after.view(), compactions=made)


def losses(of: Thread) -> tuple[CompactionLoss, ...]:
    return lost_by_compactions(Session("made", (of,)), of)


def test_rows_are_ranked_and_each_fact_is_one() -> None:
    (one,) = losses(thread("Work goes on."))
    assert [(row.fact.kind, row.fact.text, row.message) for row in one.rows] == [
        ("constraint", "Keep the importers small.", ASKED.id),
        ("constraint", "Never touch migrations/0001_rates.py please.", ASKED.id),
        ("decision", "We decided to store rates per day.", READ.id),
        ("error", "RateError: no rate for 2026-11-01 in the table", FAILED.id),
        ("path", "migrations/0001_rates.py", ASKED.id),
        ("path", "/home/dev/ledger/rates.py", READ.id),
        ("path", "src/writer_map.py", TOLD.id),
        ("identifier", "RateBook", TOLD.id),
        ("identifier", "quoted_day", TOLD.id),
    ]
    assert (one.before, one.kept, one.paraphrased, one.lost, one.needed_again) == (9, 0, 0, 9, 0)
    assert (one.kind, one.trigger, one.before_request, one.thread) == ("summary", "auto", 2, "main")


def test_verdict_of_a_step_after_which_the_user_went_on_is_done() -> None:
    step, rule = user("Please commit it now."), user("Never push to main.")
    before = Stretch(own=[step, rule])
    summary = Message("s", "user", (Text("Work goes on."),), summary=True)
    verdicts = {
        row.fact.text: (row.verdict, row.why) for row in lost_between(before.own, [summary])
    }
    assert verdicts["Please commit it now."] == (
        "done",
        "It was a step of that moment: the user then moved on.",
    )
    assert verdicts["Never push to main."] == ("gone", "")


def test_verdict_of_an_error_is_done_when_the_same_command_succeeds_later() -> None:
    calls = [assistant("", (f"c{n}", "Bash", {"command": "go test ./..."})) for n in range(2)]
    failed = result("c0", "Error: TestRates failed with 3 of 7 rows", True)
    summary = Message("s", "user", (Text("Work goes on."),), summary=True)
    open_one = lost_between([calls[0], failed], [summary])
    assert [row.verdict for row in open_one if row.fact.kind == "error"] == ["gone"]
    done = lost_between([calls[0], failed, calls[1], result("c1", "ok")], [summary])
    assert [row.verdict for row in done if row.fact.kind == "error"] == ["done"]


def test_verdict_of_a_task_is_done_when_the_user_has_gone_on_twice_and_of_a_requirement_never() -> (
    None
):
    asked = user(
        "Can we create an issue for each of the parts? We need to break this up into smaller parts."
    )
    summary = Message("s", "user", (Text("Work goes on."),), summary=True)
    for later, verdict in ((1, "gone"), (2, "done")):
        rows = lost_between([asked, *(user("The tests are red.") for _ in range(later))], [summary])
        assert [row.verdict for row in rows if row.fact.text.startswith("Can we")] == [verdict]
        assert [row.verdict for row in rows if row.fact.text.startswith("We need")] == ["gone"]


def test_verdict_of_a_wish_is_done_when_the_agent_says_so_and_the_user_went_on() -> None:
    wish = user("In verbose mode we should show the commit message.")
    rule = "Always show the commit date."
    summary = Message("s", "user", (Text("Work goes on."),), summary=True)
    said_so = assistant(
        "Added the commit message and the commit date to verbose mode, shown first."
    )
    not_yet = assistant("The commit message is not yet added to verbose mode.")
    for answer, later, verdict in (
        (said_so, [user("The tests are red.")], "done"),
        (said_so, [], "gone"),
        (not_yet, [user("The tests are red.")], "gone"),
    ):
        rows = lost_between([wish, user(rule), answer, *later], [summary])
        verdicts = {row.fact.text: row.verdict for row in rows}
        assert (verdicts[wish.text], verdicts[rule]) == (verdict, "gone")


def test_verdict_of_an_error_of_a_call_that_only_looked_is_done_when_any_call_succeeds_later() -> (
    None
):
    looked = assistant(
        "",
        ("c0", "Bash", {"command": 'repo="a/b" && gh api repos/$repo/comments | jq ".[]; .[0]"'}),
    )
    failed = result("c0", "jq: error (at <stdin>:4): Cannot index string with string", True)
    other = [assistant("", ("c1", "Bash", {"command": "go test ./..."})), result("c1", "ok")]
    summary = Message("s", "user", (Text("Work goes on."),), summary=True)
    assert failed.result is not None
    printed = replace(failed, parts=(replace(failed.result, is_error=False),))
    for messages, verdict in (
        ([failed], "gone"),
        ([failed, *other], "done"),
        ([printed, *other], "gone"),
    ):
        rows = lost_between([looked, *messages], [summary])
        assert [row.verdict for row in rows if row.fact.kind == "error"] == [verdict]


def test_items_under_a_head_that_says_skipped_are_decisions_and_made_addresses_are_told() -> None:
    listed = assistant(
        "**Questionable/Skip:**\n- **Wrapper function** - may grow later\n- Exported, but unused"
    )
    made = assistant("", ("c1", "Bash", {"command": "gh pr create --draft"}))
    address = result("c1", "https://github.com/a/b/pull/133")
    summary = Message("s", "user", (Text("Work goes on."),), summary=True)
    rows = [row for row in lost_between([listed, made, address], [summary]) if row.is_worth_telling]
    texts = [
        "https://github.com/a/b/pull/133",
        "Wrapper function** - may grow later",
        "Exported, but unused",
    ]
    assert [row.fact.text for row in rows] == texts


def test_wish_that_a_longer_one_holds_is_no_row_of_the_short_list() -> None:
    asked = user("We must not touch the old tables.")
    again = user("As I wrote we must not touch the old tables without a backup.")
    summary = Message("s", "user", (Text("Work goes on."),), summary=True)
    rows = lost_between([asked, again], [summary])
    assert [row.is_worth_telling for row in rows] == [True, False]
    assert rows[0].fact.text.startswith("As I wrote")


def test_pull_request_that_a_later_call_names_by_its_number_was_needed_again() -> None:
    call = assistant("", ("c9", "Bash", {"command": "gh api repos/a/b/pulls/133/comments"}))
    told = thread("Work goes on.", call)
    before = Stretch(own=[ASKED, assistant("See https://github.com/a/b/pull/133 please.")])
    requests = [
        Request(0, Stretch(own=[ASKED]).view()),
        Request(1, before.view()),
        *told.requests[2:],
    ]
    (one,) = losses(replace(told, requests=requests, messages=[*before.own, *told.messages[4:]]))
    assert [(row.fact.kind, row.needed[0].how) for row in one.rows if row.needed] == [
        ("url", "call")
    ]


def test_verdict_between_gone_and_carried_is_unsure_and_shows_the_nearest_sentence() -> None:
    said = user("Please write every rate of the importer into the ledger table of the bank.")
    summary = Message(
        "s", "user", (Text("The ledger table has a column for the rate."),), summary=True
    )
    (row,) = (one for one in lost_between([said], [summary]) if one.fact.kind == "instruction")
    assert (row.verdict, row.nearest) == ("unsure", "The ledger table has a column for the rate.")


def test_verdict_on_a_wish_in_another_language_than_the_summary_is_unsure() -> None:
    said = user("退款要记回原来的科目，所以规则照样适用。")
    told = [
        Message("s", "user", (Text(text),), summary=True)
        for text in ("Refunds go back.", "今天写了导入的代码。")
    ]
    verdicts = [[row.verdict for row in lost_between([said], [one])] for one in told]
    assert verdicts == [["unsure"], ["gone"]]


def test_forgetting_counts_a_file_that_is_read_again_and_not_one_that_is_new() -> None:
    lines = "\n".join(f"line {n} of the table of rates" for n in range(40))
    first = [assistant("", ("c1", "Read", {"file_path": "/a/rates.py"})), result("c1", lines)]
    again = [
        assistant("", ("c2", "Read", {"file_path": "/a/rates.py", "limit": 20})),
        result("c2", lines[:400]),
    ]
    new = [assistant("", ("c3", "Read", {"file_path": "/a/other.py"})), result("c3", lines)]
    before, told = (
        Stretch(own=[ASKED, *first]),
        Message("s", "user", (Text("Work goes on."),), summary=True),
    )
    after = Stretch(own=[told])
    requests = [
        Request(0, Stretch(own=[ASKED]).view()),
        Request(1, before.view()),
        Request(2, after.view()),
    ]
    after.append(*again, *new)
    requests.append(Request(3, after.view()))
    messages = [ASKED, *first, told, *again, *new]
    made = [Compaction(2, "auto", summary=told)]
    (one,) = losses(
        Thread("main", requests=requests, messages=messages, end=after.view(), compactions=made)
    )
    assert [(back.how, back.what) for back in one.forgetting.again] == [("file", "/a/rates.py")]
    assert one.forgetting.sentence.startswith("After request 1 the agent spent 1 call, ")
    assert one.forgetting.sentence.endswith(" to get back what it had.")


def test_files_of_one_folder_are_one_line_and_what_can_be_searched_none() -> None:
    use = NeededAgain(5, "call", "m", 10)
    rows = [LostRow(Fact("path", f"src/{name}.py"), "m", needed=(use,)) for name in "ab"]
    lines = shown_lines(
        [*rows, LostRow(Fact("path", "src/c.py"), "m"), LostRow(Fact("decision", "Use it."), "m")]
    )
    assert [line.text for line in lines] == ["src/: a.py, b.py", "Use it."]
    deep = [
        LostRow(Fact("path", f"/h/me/app/{name}"), "m", needed=(use,))
        for name in ("a/x.py", "b/y.py")
    ]
    names = [
        LostRow(Fact("identifier", name), "m", needed=(use,)) for name in ("load_rates", "ENT-163")
    ]
    folder = LostRow(Fact("path", "/h/me/app/src"), "m", needed=(use,))
    assert [line.text for line in shown_lines([*deep, *names, folder])] == [
        "/h/me/app/: a/x.py, b/y.py",
        "ENT-163",
    ]


def test_what_the_summary_says_in_other_words_is_not_lost() -> None:
    summary = "The user wants to never touch the migrations/0001_rates.py file. It uses rateBook, see writer_map.py."
    (one,) = losses(thread(summary))
    fates = {row.fact.text: row.fate for row in one.rows}
    assert fates["Never touch migrations/0001_rates.py please."] == "paraphrased"
    assert fates["src/writer_map.py"] == fates["RateBook"] == "paraphrased"
    assert fates["Keep the importers small."] == fates["quoted_day"] == "lost"
    assert "migrations/0001_rates.py" not in fates
    assert one.kept == 1
    assert one.before == one.kept + one.paraphrased + one.lost


def test_rule_is_carried_by_a_sentence_that_is_not_the_first_with_most_of_its_words() -> None:
    rule = user("IMPORTANT RULE: Only check requests written by Ann or by Bob, in this repository.")
    summary = (
        "A patrol of the repository: it checks requests written by Ann or Bob, as an important task.\n"
        "Unrelated work.\n- Only check requests written by Ann or Bob, skip all others."
    )
    after = Message("s", "user", (Text(summary),), summary=True)
    rows = lost_between([rule], [after])
    assert [(row.fact.kind, row.verdict) for row in rows] == [("constraint", "carried")]


def test_what_was_needed_again_comes_first_and_tells_how() -> None:
    again = assistant("", ("c9", "Read", {"file_path": "src/writer_map.py"}))
    later = [
        again,
        result("c9", "quoted_day " * 200),
        user("what of RateBook?"),
        assistant("RateBook is gone"),
    ]
    (one,) = losses(thread("Work goes on.", *later))
    rows = {row.fact.text: row for row in one.rows}
    assert next(row.fact.text for row in one.rows if row.fact.kind == "path") == "src/writer_map.py"
    (read,) = rows["src/writer_map.py"].needed
    assert (read.how, read.request, read.message) == ("call", 2, again.id)
    assert read.tokens > 400
    (asked,) = rows["RateBook"].needed
    assert (asked.how, asked.tokens, asked.message) == ("user", 0, later[2].id)
    assert rows["quoted_day"].needed == ()
    assert one.needed_again == 2


def test_what_an_unreadable_summary_left_out_is_not_known() -> None:
    again = assistant("", ("c9", "Read", {"file_path": "src/writer_map.py"}))
    assert losses(thread("Work goes on.", again))[0].needed_again == 1
    (one,) = losses(thread("", again))
    assert (one.is_readable, one.lost, one.needed_again) == (False, 9, 0)
    assert describe(one)["summary_readable"] is False
    assert {row.verdict for row in one.rows} == {"unknown"}
    assert "what else it lost is unknown" in describe_losses([one]).text
    said = list(lost_lines(RecordedLosses((one,))))
    assert "   Its summary is not readable in this file: what it lost is unknown." in said
    assert not [line for line in said if "Nothing important" in line]


def test_a_replay_says_the_same_of_an_unreadable_summary() -> None:
    again = assistant("", ("c9", "Read", {"file_path": "src/writer_map.py"}))
    found = recorded(Ground(thread("", again)))
    losses = found.losses
    assert (losses.lost_words, losses.needed_words, losses.needs_are_known) == (
        "at most 9",
        "unknown",
        False,
    )
    document = described(found)
    assert (
        document["loss"]["summary_readable"]
        is document["compactions"][0]["summary_readable"]
        is False
    )
    row = policies_lines([found], None)[-1].split("  ")
    assert {"at most 9 of 9", "unknown"} <= {cell.strip() for cell in row}
    assert "unknown" in list(regrets_lines([found]))[-1]
    readable = recorded(Ground(thread("Work goes on.", again)))
    assert (readable.losses.lost_words, readable.losses.needed_words) == ("9", "1")
    assert (
        "summary_readable"
        not in described(readable)["loss"] | described(readable)["compactions"][0]
    )


def test_of_two_summaries_one_that_can_be_read_tells_the_least_that_was_needed() -> None:
    again = assistant("", ("c9", "Read", {"file_path": "src/writer_map.py"}))
    one = thread("Work goes on.", again)
    sealed = Message("t", "user", (Text(""),), summary=True)
    stretch = Stretch(own=[sealed])
    requests = [*one.requests, Request(len(one.requests), stretch.view())]
    made = [*one.compactions, Compaction(len(one.requests), "auto", summary=sealed)]
    found = recorded(
        Ground(replace(one, requests=requests, compactions=made, end=stretch.view()))
    ).losses
    assert found.needed_words == "at least 1"
    assert found.lost_words.startswith("at most ")


def test_a_pin_that_an_unreadable_summary_may_hold_says_so() -> None:
    (kept,) = recorded(Ground(thread(""))).pins[:1]
    assert (
        describe_fate(kept)
        == "gone since request 2, by auto compaction, whose summary cannot be read"
    )


def test_a_drop_that_nobody_announced_is_listed() -> None:
    (one,) = losses(thread("Something else now.", announced=False))
    assert (one.kind, one.before_request, one.lost) == ("drop", 2, 9)
    assert "the worst of 2 silent drops" in describe_losses([one, one]).text


def repeated() -> Thread:
    """A path is lost, comes back, and is lost again; nothing else is."""
    said, word = "Please read the file src/parser_table.py.", "Something else."
    stretches = [Stretch(own=[user(f"{said} {n}")]) for n in range(2)]
    others = [Stretch(own=[user(f"{word} {n}")]) for n in range(2)]
    views = [stretches[0], others[0], stretches[1], others[1]]
    messages = [one for stretch in views for one in stretch.own]
    made = [Compaction(at, "auto", "edit") for at in (1, 3)]
    requests = [Request(n, stretch.view()) for n, stretch in enumerate(views)]
    return Thread(
        "main", requests=requests, messages=messages, end=views[-1].view(), compactions=made
    )


def test_facts_lost_together_of_a_fact_that_was_lost_twice_count_once_as_in_a_comparison() -> None:
    thread = repeated()
    found = recorded_losses(Session("made", (thread,)), thread)
    paths = [
        sum(row.fact.text == "src/parser_table.py" for row in loss.rows) for loss in found.each
    ]
    assert sum(paths) == 2
    compared = recorded(Ground(thread)).losses
    assert (found.together.lost, found.together.facts) == (compared.lost, compared.facts)
    assert found.together.lost < sum(loss.lost for loss in found.each)
    assert losses_document(found)["together"]["lost"] == compared.lost


def test_a_drop_of_which_no_message_shows_what_went_is_no_loss_of_nothing() -> None:
    """The provider counted less while the messages only grew."""
    stretch = Stretch(own=[user("Please read the file src/parser_table.py.")])
    requests = [Request(0, stretch.view(), usage=Usage(30_000))]
    stretch.append(assistant("I did."), user("Go on."))
    requests.append(Request(1, stretch.view(), usage=Usage(20_000)))
    grown = Thread("main", requests=requests, messages=stretch.own, end=stretch.view())
    (one,) = losses(grown)
    assert (one.kind, one.is_shown, one.lost) == ("drop", False, 0)
    assert describe(one)["loss_shown"] is False
    assert any(
        "what was removed is not in the file" in line for line in lost_lines(RecordedLosses((one,)))
    )
    said = "1 silent drop before request 1. The provider counted fewer tokens, and no message shows what was removed."
    assert describe_losses([one]).text == said
    (other,) = losses(thread("Something else now.", announced=False))
    assert describe_losses([one, other]).text.endswith(
        "What 1 silent drop removed is not in the file."
    )


def test_a_step_loses_by_the_same_rule() -> None:
    buffer = thread("Work goes on.").requests[1].view.messages()
    rows = lost_between(buffer, [Message("s", "user", (Text("Work goes on."),), summary=True)])
    (one,) = losses(thread("Work goes on."))
    assert [(row.fact, row.verdict) for row in rows] == [
        (row.fact, row.verdict) for row in one.rows
    ]
    assert [row.hurts for row in rows] == sorted(row.hurts for row in rows)
    assert lost_between(buffer, buffer) == ()


def test_summary_of_a_file_that_begins_in_the_middle_is_not_said_to_invent_anything() -> None:
    made = thread("It is all in src/unheard_of.py, see load_rate_table.")
    assert losses(made)[0].inventions
    late = replace(made, begins_late=True)
    (one,) = losses(late)
    assert (one.inventions, one.is_whole) == ((), False)
    assert not [line for line in lost_lines(RecordedLosses((one,))) if "Its summary" in line]


def test_decision_that_may_be_carried_is_not_shown_and_one_that_is_gone_is() -> None:
    fact = Fact("decision", "We decided to store rates per day.")
    assert LostRow(fact, "m", "gone").is_worth_telling
    assert not LostRow(fact, "m", "unsure").is_worth_telling


def test_name_is_shown_when_it_is_needed_before_the_next_compaction_and_not_when_after() -> None:
    again = assistant("", ("c9", "Read", {"file_path": "src/writer_map.py"}))
    told = thread("Work goes on.", user("Go on."), again)
    next_summary = Message("s2", "user", (Text("Still at it."),), summary=True)

    def shown(next_at: int) -> bool:
        compactions = [*told.compactions, Compaction(next_at, "auto", summary=next_summary)]
        (one, _) = losses(replace(told, compactions=compactions))
        (row,) = (row for row in one.rows if row.fact.text == "src/writer_map.py")
        assert row.needed[0].request == 3
        return row.is_worth_telling

    assert (shown(next_at=4), shown(next_at=3)) == (True, False)


def test_lost_lines_when_the_file_begins_after_a_compaction_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = SAMPLE.read_text().splitlines()
    boundary = next(at for at, line in enumerate(lines) if "compact_boundary" in line)
    late = tmp_path / "late.jsonl"
    late.write_text("\n".join(lines[boundary:]))
    assert main(["lost", str(late)]) == 0
    assert capsys.readouterr().out == (
        "The session begins after a compaction. What that lost is not in this file.\n"
    )


def test_empty_list_when_facts_are_unknown_does_not_say_that_nothing_was_lost() -> None:
    known = CompactionLoss(0, "main", 2, "summary", "auto", 100, 50)
    row = LostRow(Fact("path", "src/a.py"), "m", "unknown")
    unknown = replace(known, rows=(row,))
    last_lines = [list(lost_lines(RecordedLosses((one,))))[-1] for one in (known, unknown)]
    assert last_lines == [
        "   Nothing important was lost.",
        "   Nothing important was lost, as far as the file shows.",
    ]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lost", str(SAMPLE)]) == 0
    assert "in other words" in capsys.readouterr().out
    assert main(["lost", str(SAMPLE), "--compaction", "5"]) == 1
    assert "there is no compaction 5" in capsys.readouterr().err
    assert run.__doc__
    session = open_transcript(SAMPLE)
    (one,) = lost_by_compactions(session, session.main)
    document = describe(one)
    assert document["facts"]["lost"] == sum(
        row["fate"] != "paraphrased" for row in document["lost"]
    )
    verdicts_by_fate = {
        fate: {row["verdict"] for row in document["lost"] if row["fate"] == fate}
        for fate in ("lost", "paraphrased")
    }
    assert verdicts_by_fate["paraphrased"] == {"carried"}
    assert {"gone", "done"} <= verdicts_by_fate["lost"] <= {"gone", "unsure", "done", "unknown"}
    assert document["paid_after_requests"] is not None
    assert document["cost_usd"] > 0
    assert {row["kind"] for row in document["lost"]} <= set(KINDS)
    assert {use["how"] for row in document["lost"] for use in row["needed_again"]} <= {
        "tool_call",
        "answer",
        "user",
    }
