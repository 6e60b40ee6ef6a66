"""What the proxy made of a request, as its recording tells it: what the client sent against what was forwarded."""

from typing import Any

from inspector.core.drops import session_drops
from inspector.core.session import Session, compaction_sizes
from tests.core.formats.recordings import CLAUDE, Recording, assistant, body, call, result, said, text, turns, user

SHORT = user("What was before, in short.")


def _cut(recording: Recording, asked: list[Any], sent: list[Any], how: str = "changed", tokens: int = 150) -> Any:
    """A held request that was forwarded as something else; its answer."""
    number = recording.ask(body(asked))
    recording.records.append({"type": "held", "exchange": number, "why": "watermark"})
    recording.records.append({"type": "released", "exchange": number, "how": how})
    recording.send(number, body(sent))
    recording.reply(number, answer := said(text("on"), call("read", 90 + number), tokens=tokens))
    return answer


def _told(session: Session) -> list[tuple[int, str, str, int]]:
    return [(one.before_request, one.trigger, one.kind, one.kept) for one in session.main.compactions]


def test_a_cut_is_the_clients_buffer_against_the_one_that_was_forwarded() -> None:
    """Not the request before: from there to what is left the buffer may even grow."""
    recording = Recording()
    messages = turns(recording, 3)  # reported: 100, 110, 120
    _cut(recording, messages, [SHORT, *messages[-2:]], tokens=125)
    session = recording.session()
    assert _told(session) == [(3, "proxy", "edit", 2)]
    before, after = compaction_sizes(session.main, session.main.compactions[0])
    assert after == 125
    assert before is not None
    assert abs(before - 130) < 3  # as the three before grew
    (drop,) = session_drops(session)
    assert (drop.request, drop.compaction, drop.tokens_before, drop.tokens_after) == (3, 0, before, 125)
    gone = [message.id for message in session.main.requests[3].asked or ()][:5]
    assert [*drop.lost] == gone


def test_the_first_request_may_be_cut() -> None:
    recording = Recording()
    messages = [user("Old."), assistant(said(text("I see."))), user("New.")]
    _cut(recording, messages, messages[-1:])
    session = recording.session()
    assert _told(session) == [(0, "proxy", "edit", 1)]
    (drop,) = session_drops(session)
    assert (drop.request, drop.kind, drop.compaction, len(drop.lost)) == (0, "edit", 0, 2)
    assert drop.tokens_before is not None
    assert drop.tokens_after is not None
    assert drop.tokens_before > drop.tokens_after


def test_a_cut_that_is_only_made_again_is_no_other_one() -> None:
    recording = Recording()
    messages = turns(recording, 3)
    cut = [SHORT, *messages[-2:]]
    for n in range(3):
        answer = _cut(recording, messages, cut, "cut again" if n else "changed")
        messages = [*messages, assistant(answer), result(93 + n)]
        cut = [*cut, assistant(answer), result(93 + n)]
    rewound = [*messages[:-4], user("No: the other way.")]  # behind the cut, which is made again as before
    _cut(recording, rewound, [*cut[:-4], user("No: the other way.")], "cut again")
    session = recording.session()
    assert _told(session) == [(3, "proxy", "edit", 2)]
    assert [(drop.request, drop.kind) for drop in session_drops(session)] == [(3, "edit"), (6, "rewind")]


def test_a_second_cut_is_told_in_full() -> None:
    recording = Recording()
    messages = turns(recording, 3)
    answer = _cut(recording, messages, [SHORT, *messages[-2:]], tokens=90)
    messages = [*messages, assistant(answer), result(93)]
    _cut(recording, messages, [user("In short, again."), *messages[-2:]], tokens=90)
    session = recording.session()
    assert _told(session) == [(3, "proxy", "edit", 2), (4, "proxy", "edit", 2)]
    sizes = [compaction_sizes(session.main, one) for one in session.main.compactions]
    assert all(before is not None and after is not None and before > after for before, after in sizes)


def test_what_the_client_compacts_itself_is_not_the_proxys() -> None:
    """Though it is forwarded otherwise, too: an older cut is made again."""
    recording = Recording()
    messages = turns(recording, 3)
    answer = _cut(recording, messages, [SHORT, *messages[-2:]])
    own = [
        user("This session is being continued from a previous conversation. We read."),
        assistant(answer),
        result(93),
    ]
    _cut(recording, [*own, user("And now?")], [own[0], user("And now?")], "cut again")
    assert _told(recording.session())[1:] == [(4, "", "summary", 0)]


def test_one_note_a_session() -> None:
    recording = Recording()
    for headers, word in ((CLAUDE, "one"), ({"session_id": "p-1", "user-agent": "pi/1"}, "two")):
        messages = turns(recording, 2, headers, word)
        for _ in range(4):
            number = recording.ask(body(messages), headers=headers)
            recording.send(number, body([SHORT, *messages[-2:]]))
            answer = said(text(f"on {number}"))
            recording.reply(number, answer)
            messages = [*messages, assistant(answer), user("more")]
    notes = [note for note in recording.session().notes if "forwarded" in note]
    assert [note.partition(":")[0] for note in notes] == ["claude-code s-1", "pi p-1"]
    assert all("4 requests were not forwarded" in note and "5 messages became 3" in note for note in notes)
