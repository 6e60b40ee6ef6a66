"""Signs as data: what a pattern matches, and that no two formats claim the same file."""

from collections.abc import Mapping
from typing import Any

import pytest

from inspector.core.formats.detect import FORMATS, SURE
from inspector.core.formats.foreign import ForeignFormat, foreign_database, foreign_formats
from inspector.core.formats.format import Head
from inspector.core.formats.signs import FileSign, FileSigns, Pattern, fits_pattern
from tests.core.formats.heads import head_of


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("<any>", None, ...),
        ("<text>", "x", 1),
        ("<number>", 1.5, True),
        ("<list>", [], {}),
        ("<object>", {}, []),
        ("user|assistant", "assistant", "tool"),
        ("ses_*", "ses_1", "msg_1"),
        ("*State", "TeamState", "StateTeam"),
        (0, 0, False),
        (True, True, 1),
        ([], [1], ()),
        (["<text>"], ["x", 1], []),
        ({"a": {"b": "<any>"}}, {"a": {"b": None}}, {"a": {}}),
        ({"a": "<absent>"}, {"b": 1}, {"a": None}),
        (lambda value: value == 7, 7, 8),
    ],
)
def test_a_pattern_matches_what_it_describes_and_nothing_else(
    pattern: Pattern, fitting: Any, other: Any
) -> None:
    assert fits_pattern(fitting, pattern)
    assert other is ... or not fits_pattern(other, pattern)


def test_a_sign_asks_for_the_first_any_most_or_every_row() -> None:
    def borne(rows: Any, *values: Any) -> bool:
        return FileSign({"a": "<any>"}, rows).is_on(Head(values))

    own, other = {"a": 1}, {"b": 1}
    assert (borne("first", own, other), borne("first", other, own)) == (True, False)
    assert (borne("any", other, other, own), borne("any", other)) == (True, False)
    assert (borne("most", own, other), borne("most", own, other, other)) == (True, False)
    assert (borne("every", own, own), borne("every", own, other)) == (True, False)
    assert not any(borne(rows) for rows in ("first", "any", "most", "every", "document"))
    assert FileSign({"a": "<any>"}, "document").is_on(head_of(own))
    assert not FileSign({"a": "<any>"}, "document").is_on(head_of(own, own))


def example(pattern: Pattern) -> Any:
    """The smallest value that a pattern matches."""
    if isinstance(pattern, Mapping):
        return {key: example(inner) for key, inner in pattern.items() if inner != "<absent>"}
    if isinstance(pattern, list):
        return [example(inner) for inner in pattern]
    if not isinstance(pattern, str):
        return pattern
    types: Mapping[str, Any] = {
        "<any>": "x",
        "<text>": "x",
        "<number>": 1,
        "<list>": [],
        "<object>": {},
    }
    return types.get(pattern, pattern.partition("|")[0].replace("*", "x"))


def is_data(pattern: Pattern) -> bool:
    """Has it no function in it?"""
    if isinstance(pattern, Mapping):
        return all(map(is_data, pattern.values()))
    return all(map(is_data, pattern)) if isinstance(pattern, list) else not callable(pattern)


def signs_of(sniff: Any) -> list[FileSign]:
    return (
        [sign for sign in sniff.signs if is_data(sign.pattern)]
        if isinstance(sniff, FileSigns)
        else []
    )


OWN = [(known.name, sign) for known in FORMATS for sign in signs_of(known.sniff)]
ENTRIES = foreign_formats()
FOREIGN = [(entry, sign) for entry in ENTRIES for sign in signs_of(entry.signs)]


def head_with(sign: FileSign) -> Head:
    value = example(sign.pattern)
    return head_of(value) if sign.rows in ("first", "document") else head_of(value, value)


@pytest.mark.parametrize(
    ("name", "sign"), OWN, ids=[f"{name}-{n}" for n, (name, _) in enumerate(OWN)]
)
def test_a_file_with_the_sign_of_a_format_is_claimed_by_no_other_as_surely(
    name: str, sign: FileSign
) -> None:
    head = head_with(sign)
    sureness = {known.name: known.sniff(head) for known in FORMATS}
    own = sureness.pop(name)
    assert own >= sign.sure
    rivals = {rival: sure for rival, sure in sureness.items() if sure >= own}
    assert not rivals
    if own >= SURE:
        return
    foreign = [entry.name for entry in ENTRIES if entry.sureness(head) > own]
    assert not foreign


@pytest.mark.parametrize(
    ("entry", "sign"), FOREIGN, ids=[f"{entry.name}-{n}" for n, (entry, _) in enumerate(FOREIGN)]
)
def test_a_file_with_a_foreign_sign_is_claimed_by_no_format_and_no_other_entry(
    entry: ForeignFormat, sign: FileSign
) -> None:
    head = head_with(sign)
    assert max(known.sniff(head) for known in FORMATS) < entry.sure
    assert [other.name for other in ENTRIES if other.sureness(head) > entry.sure] == []
    rivals = [
        other.name for other in ENTRIES if other is not entry and other.sureness(head) == entry.sure
    ]
    assert rivals == []


def test_every_entry_of_the_foreign_table_can_be_recognised_and_reads_as_a_sentence() -> None:
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        assert entry.signs.signs or entry.begins or entry.tables
        assert entry.name.split()[0] in ("a", "an", "the", "messages", "results", "events")
        assert not entry.sentence.endswith(".")
        assert 0 < entry.sure < SURE


def test_a_database_is_known_by_its_tables() -> None:
    def name(*tables: str) -> str:
        found = foreign_database(set(tables))
        return found.name if found else ""

    assert name("ItemTable", "cursorDiskKV") == "a Cursor chat"
    assert name("sessions", "messages", "schema_version", "usage_ledger") == "a goose session"
    assert name("sessions", "messages", "schema_version", "state_meta") == "a Hermes session"
    assert name("blobs", "meta") == "a Cursor chat"
    assert (
        name("ai_queries", "agent_conversations", "agent_tasks", "blocks") == "a database of Warp"
    )
    assert name("conversations", "__diesel_schema_migrations") == "a ForgeCode conversation"
    assert name("threads", "thread_dynamic_tools", "jobs") == "a list of sessions of Codex"
    assert name("ItemTable") == "the state of VS Code's windows"
    assert name("threads") == "a Zed thread"
    assert name("threads", "users") == ""
    assert name() == ""
