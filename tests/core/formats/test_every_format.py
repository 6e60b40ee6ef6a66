"""What holds for the sessions of every format, whatever their files say."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import pytest

from inspector.core.formats.detect import FORMATS, detect
from tests.core.formats.feeding import check, check_threads
from tests.core.formats.heads import head_of
from tests.core.formats.samples import Fed, Sample, read, samples

SAMPLES = samples()
NAMES = [f"{sample.format}: {sample.name}" for sample in SAMPLES]
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)


def test_every_format_has_a_sample() -> None:
    assert {sample.format for sample in SAMPLES} == {known.name for known in FORMATS}


@each_sample
def test_a_sample_is_detected_as_its_format_and_has_requests(sample: Sample) -> None:
    assert detect(sample.head).name == sample.format
    session = sample.read()
    check(session)
    assert any(thread.requests or thread.messages for thread in session.threads)


IDS = ("id", "uuid", "messageId", "message_id", "call_id", "callID", "tool_call_id", "tool_use_id", "toolCallId",
       "requestId", "step_id", "messageID", "entryId", "agent", "thread")  # fmt: skip
"""Under which names files say what something is called."""


def with_same_ids(value: Any, names: Sequence[str]) -> Any:
    """The value as a publisher's redaction leaves it: every text under these names is the same."""
    if isinstance(value, dict):
        redacted = {
            key: "REDACTED" if key in names and isinstance(one, str) else one
            for key, one in value.items()
        }
        return {key: with_same_ids(inner, names) for key, inner in redacted.items()}
    return [with_same_ids(inner, names) for inner in value] if isinstance(value, list) else value


def changed(fed: Sequence[Fed], change: Callable[[Any], Any]) -> list[Fed]:
    return [(line, change(value), file) for line, value, file in fed]


@each_sample
@pytest.mark.parametrize("name", IDS)
def test_ids_are_unique_when_the_file_says_one_id_everywhere(sample: Sample, name: str) -> None:
    check_threads(
        read(sample.format, changed(sample.fed, lambda value: with_same_ids(value, (name,))))
    )


@each_sample
def test_ids_are_unique_when_every_id_of_the_file_is_redacted(sample: Sample) -> None:
    check_threads(read(sample.format, changed(sample.fed, lambda value: with_same_ids(value, IDS))))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where texts stand in a value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))


def put(value: Any, path: Sequence[Any], new: Any) -> Any:
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = put(value[path[0]], path[1:], new)
    return copied


@each_sample
def test_ids_are_unique_when_texts_of_the_file_are_exchanged(sample: Sample) -> None:
    """Any text of the file in the place of any other: thread names, message ids, ids of calls, and all the rest."""
    chance = Random(sample.name)
    texts = [
        text
        for _, value, _ in sample.fed
        for path in places(value)
        if len(text := _text_at(value, path)) < 40
    ]
    for _ in range(60 if texts else 0):
        check_threads(read(sample.format, exchanged(sample.fed, chance, texts)))


def exchanged(fed: Sequence[Fed], chance: Random, values: Sequence[Any]) -> list[Fed]:
    """The same with up to eight of its texts replaced by some of these values."""
    known = [(n, path) for n, (_, value, _) in enumerate(fed) for path in places(value)]
    changed_fed = list(fed)
    for _ in range(chance.choice((1, 2, 8))):
        n, path = chance.choice(known)
        line, value, file = fed[n]
        changed_fed[n] = (line, put(value, path, chance.choice(values)), file)
    return changed_fed


def _text_at(value: Any, path: Sequence[Any]) -> str:
    for key in path:
        value = value[key]
    return str(value)


def words(sample: Sample, fed: Sequence[Fed]) -> list[Any]:
    """What was said, request by request: what must be the same whatever the messages are called."""
    return [
        [
            (
                request.usage,
                [
                    (message.role, message.text)
                    for message in request.view
                    if message.role != "tool"
                ],
            )
            for request in thread.requests
        ]
        for thread in read(sample.format, fed).threads
    ]


REDACTED = [
    ("opencode: export", "id"),
    ("claude-code: claude_code/plain.jsonl", "uuid"),
    ("claude-code: claude_code/plain.jsonl", "id"),
    ("openhands: harnesses/openhands.json", "id"),
    ("langsmith: traces/langsmith.json", "id"),
    ("journal: run", "call_id"),
    ("copilot-cli: events", "id"),
    ("cline-session: messages", "id"),
    ("openclaw: session", "id"),
]
"""Ids that a publisher of transcripts replaces, and that are not needed to know what was said."""


@pytest.mark.parametrize(("name", "key"), REDACTED)
def test_redacted_ids_leave_words_order_and_usage_as_they_were(name: str, key: str) -> None:
    sample = SAMPLES[NAMES.index(name)]
    redacted = changed(sample.fed, lambda value: with_same_ids(value, (key,)))
    assert redacted != list(sample.fed)
    assert words(sample, redacted) == words(sample, sample.fed)


def test_redacted_ids_are_said_in_a_note() -> None:
    for name in ("opencode: export", "journal: run", "gemini-cli: document"):
        sample = SAMPLES[NAMES.index(name)]
        before = sample.read().notes
        notes = read(
            sample.format, changed(sample.fed, lambda value: with_same_ids(value, ("id",)))
        ).notes
        assert next(note for note in notes if note not in before).startswith(
            "Ids occur more than once in this file"
        )


@pytest.mark.parametrize("odd", [{}, [], None, 7])
def test_a_role_of_another_type_after_many_messages_is_read(odd: Any) -> None:
    """Detection looks at every message of a body, not only at the first ones."""
    body = {"messages": [*[{"role": "user", "content": "a"}] * 8, {"role": odd, "content": "x"}]}
    assert detect(head_of(body)).name == "openai-chat"


def test_agents_with_one_name_are_threads_of_their_own() -> None:
    def said(agent: str, role: str) -> dict[str, Any]:
        return {"role": role, "content": f"of {agent}", "agent": agent}

    history = [
        said("editor", "user"),
        said("editor", "assistant"),
        said("main", "user"),
        said("main", "assistant"),
    ]
    session = read("swe-agent", [(1, {"trajectory": [], "history": history, "info": {}}, "")])
    assert [(thread.id, len(thread.requests)) for thread in session.threads] == [
        ("main", 1),
        ("main.2", 1),
    ]


def test_a_message_that_names_no_agent_belongs_to_the_first_one() -> None:
    rows = [
        {"role": "system", "content": "act"},
        {"role": "user", "content": "hi", "agent": "main"},
    ]
    rows.append({"role": "assistant", "content": "hello", "agent": "main"})
    session = read("swe-agent", [(1, {"trajectory": [], "history": rows, "info": {}}, "")])
    assert [
        (thread.id, len(thread.requests), thread.prompt.system) for thread in session.threads
    ] == [("main", 1, "act")]


def test_a_whole_body_of_responses_is_known_by_its_fields_whatever_its_items_are() -> None:
    items = [{"type": None, "text": "no item"}, {"call_id": "c", "content": "nor this"}]
    body = {
        "model": "m",
        "max_output_tokens": 9,
        "store": False,
        "instructions": "i",
        "input": items,
    }
    assert detect(head_of(body)).name == "openai-responses"
