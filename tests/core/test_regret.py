"""What a policy threw away, and what the recorded session came to need of it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.calls import read_by, writes
from inspector.core.facts.fact import Fact
from inspector.core.facts.index import FactIndex, lost
from inspector.core.findings.lost import lost_between
from inspector.core.message import Message, Text, ToolCall
from inspector.core.replay.regret import At, Losses, LossLedger
from tests.core.policies.build import assistant, result, user

STEP = At(1, "compact")


def ledger(index: FactIndex | None = None) -> LossLedger:
    return LossLedger(
        index or FactIndex(), lambda message: len(message.result.content) if message.result else 0
    )


def story(before: Sequence[Message], after: Sequence[Message], later: Sequence[Message]) -> Losses:
    """`before` stands, one step makes it `after`, then `later` arrives, a request each."""
    book = ledger()
    book.arrive(before, 0)
    book.change(after, STEP)
    for request, message in enumerate(later, 1):
        book.arrive([message], request)
    return book.losses()


READ = assistant("", ("c1", "Read", {"file_path": "src/a.py"}))
TOLD = result(
    "c1", "def load_rates(): raise RateMissing  # since 4.0.17, see https://example.org/rates"
)


def test_a_fact_is_lost_where_it_stands_nowhere() -> None:
    found = story([user("go"), READ, TOLD], [READ], [])
    assert {(one.fact.kind, one.fact.text) for one in found.losses} == {
        ("identifier", "load_rates"), ("identifier", "RateMissing"), ("number", "4.0.17"),
        ("url", "https://example.org/rates"),
    }  # fmt: skip
    assert {one.message for one in found.losses} == {TOLD.id}
    assert (found.facts, found.kept, found.lost, found.needed_later, found.regrets) == (
        4,
        0,
        4,
        0,
        (),
    )


def test_a_fact_that_a_summary_names_is_kept() -> None:
    summary = Message("s", "user", (Text("uses load_rates of 4.0.17; RateMissing"),), summary=True)
    found = story([user("go"), READ, TOLD], [READ, summary], [])
    assert [one.fact.text for one in found.losses] == ["https://example.org/rates"]
    assert (found.facts, found.kept, found.lost) == (4, 3, 1)


def test_text_counts_even_where_no_pattern_finds_it() -> None:
    """A path stands where a longer one holds it; a number does not stand in a longer number."""
    short = result("c1", "src/a.py rate_1234")
    there = result("c2", "/home/dev/src/a.py and rate_12345")
    found = story([short, there], [there], [])
    assert [one.fact for one in found.losses] == [Fact("identifier", "rate_1234")]


@pytest.mark.parametrize(
    ("message", "how"),
    [
        (assistant("load_rates is what we need"), "answer"),
        (assistant("", ("c2", "Grep", {"pattern": "load_rates"})), "call"),
        (user("what about load_rates ?"), "user"),
    ],
)
def test_a_lost_fact_that_is_referred_to_is_regretted(message: Message, how: str) -> None:
    found = story([user("go"), READ, TOLD], [READ], [message, message])
    (regret,) = found.regrets
    assert (regret.fact.text, regret.how, regret.needed_by, regret.at) == (
        "load_rates",
        how,
        1,
        STEP,
    )
    assert (regret.message, regret.repaired, regret.price) == (message.id, False, 0)
    assert (found.needed_later, found.lost) == (1, 4)


@pytest.mark.parametrize(
    "message",
    [
        result("c9", "load_rates again"),
        Message("m", "user", (Text("load_rates"),), mark="attachment"),
        Message("m", "user", (Text("load_rates"),), summary=True),
    ],
)
def test_what_nobody_said_is_no_regret_but_brings_the_fact_back(message: Message) -> None:
    found = story([user("go"), READ, TOLD], [READ], [message, assistant("load_rates")])
    assert not found.regrets


def test_a_path_is_used_wherever_a_line_begins_with_it_and_a_word_of_a_schema_is_no_fact() -> None:
    edit = assistant(
        "Now the fix.", ("c2", "Edit", {"file_path": "src/deep/a.py", "status": "in_progress"})
    )
    read = assistant("", ("c1", "Read", {"file_path": "src/deep/a.py", "status": "in_progress"}))
    found = story([user("go"), read], [], [edit])
    assert [(one.fact.text, one.how) for one in found.regrets] == [("src/deep/a.py", "call")]
    assert found.facts == 1


@pytest.mark.parametrize(
    ("rule", "again"),
    [
        ("Always use port 8417 for the tests.", "I said: always use port 8417 for the tests!"),
        ("端口必须固定用 8417。", "端口必须固定用 8417，我说过了。"),
    ],
)
def test_a_rule_that_the_user_repeats_was_needed_again(rule: str, again: str) -> None:
    summary = Message("s", "user", (Text("The user wants a report."),), summary=True)
    found = story([user(rule)], [summary], [assistant("done"), user(again)])
    assert [(one.needed_by, one.how) for one in found.regrets if one.fact.kind == "constraint"] == [
        (2, "user")
    ]


def test_a_file_with_a_chinese_name_is_carried_by_its_name() -> None:
    summary = Message("s", "user", (Text("已读 src/模块4.py。"),), summary=True)
    found = story([user("看 /w/src/模块4.py 和 /w/src/模块5.py")], [summary], [])
    files = {one.fact.text: one.paraphrased for one in found.losses if one.fact.kind == "path"}
    assert files == {"/w/src/模块4.py": True, "/w/src/模块5.py": False}


def test_what_the_summary_says_in_other_words_is_carried() -> None:
    rule = "Never change the migrations folder of the backend."
    asked, read = (
        user(f"{rule} And add a test for load_rates in src/deep/rates.py."),
        user("see src/__init__.py"),
    )
    said = (
        "The user said to never touch the migrations folder of the backend. "
        "rates.py, __init__.py and loadRates matter."
    )
    summary = Message("s", "user", (Text(said),), summary=True)
    found = story([asked, read], [summary], [assistant("loadRates and load_rates")])
    fates = {one.fact.text: one.paraphrased for one in found.losses}
    assert [text for text, carried in fates.items() if not carried] == [
        "And add a test for load_rates in src/deep/rates.py.",
        "src/__init__.py",
    ]
    assert {rule, "src/deep/rates.py", "load_rates"} <= fates.keys()
    assert (found.facts, found.kept, found.paraphrased, found.lost, found.needed_later) == (
        5,
        0,
        3,
        2,
        1,
    )
    rows = lost_between([asked, read], [summary])
    assert {row.fact.text: row.fate == "paraphrased" for row in rows} == fates  # one rule


def test_a_fact_can_be_lost_and_regretted_again() -> None:
    book = ledger()
    book.arrive([user("go"), READ, TOLD], 0)
    book.change([READ], STEP)
    again = assistant("load_rates it is")
    book.arrive([again], 3)
    book.change([READ], At(5, "compact"))
    book.arrive([user("load_rates?")], 6)
    found = book.losses()
    assert [(one.at.before_request, one.needed_by) for one in found.regrets] == [(1, 3), (5, 6)]
    assert found.needed_later == 1


def test_sentence_that_an_attachment_cites_is_lost_again_when_that_goes() -> None:
    rule = "Never touch the migrations folder."
    cites = Message(
        "log",
        "user",
        (Text(f"The log of the session\nUSER: {rule}\nends here."),),
        mark="attachment",
    )
    asked = user(rule)
    followed, step = ledger(), At(1, "L1")
    followed.arrive([asked], 0)
    followed.change([user("summary")], step)
    followed.arrive([cites], 1)
    followed.change([user("summary")], At(2, "L1"))
    assert [(one.fact.text, one.at) for one in followed.losses().losses] == [
        (rule, step),
        (rule, At(2, "L1")),
    ]


def test_what_the_recording_itself_takes_away_is_not_the_policys() -> None:
    book = ledger()
    book.arrive([user("go"), READ, TOLD], 0)
    book.change([READ], None)
    book.arrive([assistant("load_rates")], 1)
    assert book.losses() == Losses()


def test_a_file_that_is_read_again_is_a_regret_with_a_price() -> None:
    again = assistant("", ("c2", "Read", {"file_path": "src/a.py"}))
    answer = result("c2", "x" * 77)
    kept = user("look at src/a.py")
    found = story([kept, READ, TOLD], [kept], [again, answer])
    (regret,) = found.regrets
    assert (regret.fact, regret.repaired, regret.price, regret.needed_by) == (
        Fact("path", "src/a.py"),
        True,
        77,
        1,
    )
    # Its content was gone, though its path still stood.
    assert (found.rereads, found.reread_tokens, found.needed_later) == (1, 77, 1)


def test_a_path_that_was_lost_and_is_read_again_is_one_regret() -> None:
    again = assistant("", ("c2", "Read", {"file_path": "src/a.py"}))
    found = story([user("go"), READ, TOLD], [], [again, result("c2", "x" * 77)])
    (regret,) = found.regrets
    assert (regret.fact.text, regret.repaired, regret.price) == ("src/a.py", True, 77)
    assert found.needed_later == 1


@pytest.mark.parametrize(
    "between",
    [
        [assistant("", ("w", "Edit", {"file_path": "src/a.py"}))],
        [assistant("", ("r", "Read", {"file_path": "src/a.py"})), result("r", "fresh")],
    ],
)
def test_a_file_that_changed_or_stands_again_is_not_read_for_its_loss(
    between: list[Message],
) -> None:
    again = assistant("", ("c2", "Read", {"file_path": "src/a.py"}))
    kept = user("look at src/a.py")
    found = story([kept, READ, TOLD], [kept], [*between, again, result("c2", "x")])
    assert found.rereads == (0 if between[0].calls[0].name == "Edit" else 1)


@pytest.mark.parametrize(
    ("name", "arguments", "reads", "changes"),
    [
        ("Read", {"file_path": "a.py"}, "a.py", False),
        ("view", {"path": "a.py"}, "a.py", False),
        ("WebFetch", {"url": "https://a.b/c"}, "https://a.b/c", False),
        ("Edit", {"file_path": "a.py"}, "", True),
        ("str_replace_editor", {"path": "a.py"}, "", True),
        ("Bash", {"command": "cat a.py"}, "cat a.py", False),
        ("shell", {"command": ["bash", "-lc", "sed -n '1,9p' a.py"]}, "sed -n '1,9p' a.py", False),
        ("shell", {"command": ["cat", "a.py"]}, "cat a.py", False),
        ("Bash", {"command": "sed -i s/a/b/ a.py"}, "", False),
        ("Bash", {"command": "pytest -q"}, "", False),
        ("Bash", {"command": "  "}, "", False),
        ("Read", "a.py", "", False),
        ("Read", {"file_path": 3}, "", False),
    ],
)
def test_which_calls_read(name: str, arguments: object, reads: str, changes: bool) -> None:
    call = ToolCall("c", name, arguments)  # type: ignore[arg-type]
    assert (read_by(call), writes(call)) == (reads, changes)


WORDS = st.lists(
    st.sampled_from(["src/a.py", "b.py", "load_rates", "readRates", "4097", "3.14", "the", "and", "中文", "error: no"]),
    max_size=8,
)  # fmt: skip


@given(st.lists(WORDS, min_size=1, max_size=8), st.data())
def test_it_agrees_with_the_loss_of_a_single_step(
    texts: list[list[str]], data: st.DataObject
) -> None:
    before = [result(f"c{n}", " | ".join(words)) for n, words in enumerate(texts)]
    after = [message for message in before if data.draw(st.booleans())]
    assert {one.fact for one in story(before, after, []).losses} == set(lost(before, after))


@given(st.lists(st.tuples(WORDS, st.booleans()), min_size=1, max_size=12), st.data())
def test_the_figures_add_up(script: list[tuple[list[str], bool]], data: st.DataObject) -> None:
    book, standing = ledger(), list[Message]()
    for request, (words, step) in enumerate(script):
        text = " | ".join(words)
        message = assistant(text) if data.draw(st.booleans()) else result(f"c{request}", text)
        book.arrive([message], request)
        standing.append(message)
        if step:
            standing = [one for one in standing if data.draw(st.booleans())]
            book.change(standing, At(request + 1, "drop"))
    found = book.losses()
    assert found.facts == found.kept + found.paraphrased + found.lost
    assert found.paraphrased + found.lost == len({one.fact for one in found.losses})
    assert found.needed_later == len(
        {one.fact for one in found.regrets if one.fact in {x.fact for x in found.losses}}
    )
    assert found.needed_later <= found.paraphrased + found.lost
    for regret in found.regrets:
        assert regret.needed_by >= regret.at.before_request
