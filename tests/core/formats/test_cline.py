"""Tasks of Cline and Roo Code: log and history, each alone and both; cuts that come one call late; any values."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.findings.composition import segments
from inspector.core.formats.cline.task import FORMAT, is_companion
from inspector.core.formats.format import Head
from inspector.core.jsontext import loads
from inspector.core.message import part_text
from inspector.core.session import Session
from inspector.transcripts.files import open_transcript
from tests.core.formats.feeding import check, deep, spoilt
from tests.shared import ARE_REAL, transcripts

HISTORY_FILE = "api_conversation_history.json"


def shown(
    say: str, text: str, index: int | None = -1, cut: list[int] | None = None
) -> dict[str, Any]:
    value = {
        "ts": 1_770_482_470_000,
        "type": "say",
        "say": say,
        "text": text,
        "conversationHistoryIndex": index,
    }
    return value | ({"conversationHistoryDeletedRange": cut} if cut else {})


def asked(
    index: int | None,
    fresh: int,
    read: int = 0,
    written: int = 0,
    cut: list[int] | None = None,
    **more: Any,
) -> dict[str, Any]:
    about = {
        "request": "…",
        "tokensIn": fresh,
        "tokensOut": 7 if fresh + read + written else 0,
        "cacheReads": read,
    }
    record = shown(
        "api_req_started", json.dumps({**about, "cacheWrites": written, **more}), index, cut
    )
    return record | {"modelInfo": {"providerId": "oak", "modelId": "oak-2", "mode": "act"}}


LOG = [
    shown("task", "plant a tree\nsoon"),
    asked(-1, 10, 6_000, 400),
    shown("reasoning", "hm", 0),
    asked(1, 0, 6_400, 200),
    asked(3, 0, cancelReason="user_cancelled"),
    asked(5, 10, 2_000, 400),
    asked(7, 10, 2_400, 100, [2, 5]),
    shown("text", "done", 8, [2, 7]),
]


def item(n: int) -> dict[str, Any]:
    if n % 2 == 0:
        text = (
            "<task>\nplant a tree\n</task>"
            if n == 0
            else f"[read_file for '{n}'] Result:\nleaf {n}"
        )
        return {"role": "user", "content": [{"type": "text", "text": text}]}
    tokens = {"prompt": 10, "completion": 7, "cached": 600 * n}
    about = {"modelInfo": {"modelId": "oak-2"}, "metrics": {"tokens": tokens}}
    return {"role": "assistant", "content": [{"type": "text", "text": f"said {n}"}], **about}


HISTORY = [item(n) for n in range(10)]


def told(log: Any = None, history: Any = None) -> Session:
    reader = FORMAT.start()
    for n, value in enumerate(one for one in (log, history) if one is not None):
        reader.feed(1, value, HISTORY_FILE if n else "")
    return reader.session()


def buffers(session: Session) -> list[list[str]]:
    return [[message.id for message in request.view] for request in session.main.requests]


def prompts(session: Session) -> list[int]:
    return [request.usage.prompt if request.usage else 0 for request in session.main.requests]


def test_calls_by_the_log_and_buffers_by_the_history() -> None:
    session = told(LOG, HISTORY)
    check(session)
    assert prompts(session) == [6_410, 6_600, 2_410, 2_510]
    assert buffers(session) == [
        ["0"],
        ["0", "1", "2"],
        ["0", "1", "6"],
        ["0", "1", "8"],
    ]
    assert session.main.title == "plant a tree"
    assert [message.mark for message in session.main.messages][:3] == ["", "", "meta"]
    assert not session.notes


def test_with_providers_like_openai_nothing_is_written_to_a_cache() -> None:
    (first, second, *_) = told(LOG, HISTORY).main.requests
    assert first.usage is not None
    assert second.usage is not None
    assert (first.usage.input, first.usage.cache_write) == (10, 400)
    assert (second.usage.input, second.usage.cache_read, second.usage.cache_write) == (
        200,
        6_400,
        0,
    )


def test_what_was_cut_off() -> None:
    session = told(LOG, HISTORY)
    first, second = session.main.compactions
    assert (first.before_request, first.cleared) == (2, ("2", "3", "4", "5"))
    assert (second.before_request, second.cleared) == (3, ("6", "7"))
    assert [message.id for message in session.main.end] == ["0", "1", "8", "9"]


def test_the_log_alone() -> None:
    session = told(LOG)
    check(session)
    assert prompts(session) == [6_410, 6_600, 2_410, 2_510]
    assert buffers(session) == [["0"], ["0", "1", "2"], ["0", "1", "6"], ["0", "1", "8"]]
    assert any("not beside it" in note for note in session.notes)


def test_read_log_alone_when_calls_have_no_index_shows_tokens_alone() -> None:
    session = told([{**record, "conversationHistoryIndex": None} for record in LOG])
    assert prompts(session) == [6_410, 6_600, 2_410, 2_510]
    assert buffers(session) == [[], [], [], []]


def test_read_log_alone_when_answer_is_shown_in_pieces_joins_them_without_results() -> None:
    found = {"tool": "searchFiles", "regex": "leaf", "content": "Found 47 results."}
    log = [
        shown("task", "plant a tree"),
        asked(-1, 10, request="<task>\nplant a tree\n</task>"),
        shown("reasoning", "where?", 0),
        shown("text", "I look.", 0),
        shown("tool", json.dumps(found), 0),
        shown("command_output", "nothing", 0),
        asked(1, 20, request="[search_files for 'leaf'] Result:\nFound 47 results."),
    ]
    session = told(log)
    check(session)
    first, answer, second = session.main.messages
    assert first.text == "<task>\nplant a tree\n</task>"
    assert [part_text(part) for part in answer.parts] == [
        "where?",
        "I look.",
        '{"tool":"searchFiles","regex":"leaf"}',
    ]
    assert [one.category for one in segments(second)] == ["tool results"]
    assert (second.text, second.mark) == (
        "[search_files for 'leaf'] Result:\nFound 47 results.",
        "meta",
    )


def test_words_of_the_user_in_a_log_alone_are_sent_until_they_are_cut() -> None:
    log = [
        *LOG[:4],
        shown("user_feedback", "water it daily", 1),
        asked(1, 10, 2_000),
        asked(3, 10, 2_000, 0, [2, 3]),
    ]
    thread = told([*log, asked(5, 10, 2_000)]).main
    texts = [[message.text for message in view] for view in thread.typed]
    task, feedback = "plant a tree\nsoon", "water it daily"
    assert texts == [[task], [task, feedback], [task, feedback], [task, feedback], [task]]
    assert not told(LOG, HISTORY).main.typed


def test_the_history_alone() -> None:
    session = told(history=HISTORY)
    check(session)
    assert prompts(session) == [610, 1_810, 3_010, 4_210, 5_410]
    assert buffers(session)[1] == ["0", "1", "2"]
    assert session.main.title == "plant a tree"
    assert any("cut off" in note for note in session.notes)


def test_without_an_index_calls_are_placed_only_where_all_have_answers() -> None:
    log = [asked(None, 10, 100 * n) for n in range(1, 6)]
    assert buffers(told(log, HISTORY))[1] == ["0", "1", "2"]
    apart = told(log[:3], HISTORY)
    assert buffers(apart) == [[], [], []]
    assert any("no buffers" in note for note in apart.notes)


def test_a_thousand_cuts_cost_no_thousand_copies() -> None:
    history = [item(n) for n in range(2_002)]
    log = [asked(2 * n - 1, 10, 100, 0, [2, 2 * n - 2] if n > 2 else None) for n in range(1, 1_000)]
    session = told(log, history)
    check(session)
    assert any("cuts" in problem.what for problem in session.problems)


@pytest.mark.parametrize("first", ["ui_messages.json", HISTORY_FILE])
def test_whichever_is_opened_brings_the_other(tmp_path: Path, first: str) -> None:
    (tmp_path / "ui_messages.json").write_text(json.dumps(LOG), encoding="utf-8")
    (tmp_path / HISTORY_FILE).write_text(json.dumps(HISTORY, indent=1), encoding="utf-8")
    session = open_transcript(tmp_path / first)
    assert session.format == "cline"
    assert buffers(session) == buffers(told(LOG, HISTORY))


def test_how_sure_it_is() -> None:
    bare = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    roo = [{**one, "ts": 1_770_482_470_000} for one in bare]
    values: list[Any] = [LOG, HISTORY, HISTORY[:1], roo, bare, {}, [], None]
    sure = [FORMAT.sniff(Head([value], value)) for value in values]
    assert sure == [1.0, 1.0, 0.95, 0.95, 0.0, 0.0, 0.0, 0.0]
    assert is_companion(Head([HISTORY], HISTORY), told(LOG))


def test_spoilt_files_never_raise() -> None:
    for bad in (None, 7, "x", [], {}, [None], {"content": 1}, [4, 2], "{}"):
        for changed in spoilt([(1, LOG)], bad):
            check(told(changed[0][1], HISTORY))
        for changed in spoilt([(1, HISTORY)], bad):
            check(told(LOG, changed[0][1]))
    check(told(LOG, [{"role": "user", "content": deep()}]))


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*LOG[-1], *HISTORY[1], "say", "tokensIn"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=4), st.lists(VALUES, max_size=4))
def test_any_values(log: list[Any], history: list[Any]) -> None:
    check(told(log, history))
    check(told(LOG[:2] + log, HISTORY[:1] + history))


@pytest.mark.parametrize(
    "path", tuple(transcripts("cline/**/*.json")), ids=lambda path: path.parent.name[:8]
)
def test_real_ones(path: Path) -> None:
    session = told(loads(path.read_bytes()))
    check(session)
    assert session.problems == []
    assert all(prompt > (1_000 if ARE_REAL else 0) for prompt in prompts(session))


@pytest.mark.parametrize("lead", ["", "tasks/1770482470000/"])
def test_both_files_of_a_zipped_task_are_read(tmp_path: Path, lead: str) -> None:
    place, path = tmp_path / "task", tmp_path / "task.zip"
    place.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in (("ui_messages.json", LOG), (HISTORY_FILE, HISTORY)):
            (place / name).write_text(json.dumps(value))
            archive.writestr(f"{lead}{name}", json.dumps(value))
        archive.writestr("other/ui_messages.json", json.dumps(LOG[:2]))
    alone, zipped = (
        open_transcript(place / HISTORY_FILE),
        open_transcript(f"{path}#{lead}{HISTORY_FILE}"),
    )
    assert [(one.usage, one.view.messages()) for one in zipped.main.requests] == [
        (one.usage, one.view.messages()) for one in alone.main.requests
    ]
    assert any(one.usage for one in zipped.main.requests)
    assert {one.id for one in zipped.held} == {f"{lead}ui_messages.json", "other/ui_messages.json"}
    same = open_transcript(f"{path}#{lead}ui_messages.json")
    assert [one.view.messages() for one in same.main.requests] == [
        one.view.messages() for one in zipped.main.requests
    ]
    folder = open_transcript(place)
    assert [one.usage for one in folder.main.requests] == [one.usage for one in alone.main.requests]
    assert not folder.held, "a task is one session"
