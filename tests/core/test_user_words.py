"""What of a message is the user's own: by the shapes in which clients hand it on. All texts are made up."""

import pytest

from inspector.core.facts.reading import wishes
from inspector.core.facts.user_words import user_words
from inspector.core.message import Mark, Message, Part, Role, Text, ToolResult

WORDS = "never push to main"
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)
SENDER = (
    'Sender (untrusted metadata):\n```json\n{\n  "label": "control-ui",\n  "id": "7"\n}\n```\n\n'
)


def read(part: Part, role: Role = "user", mark: Mark = "") -> list[tuple[str, str]]:
    return [
        (words.place, words.text.strip())
        for words in user_words(Message("m", role, (part,), mark=mark))
    ]


@pytest.mark.parametrize(
    "text",
    [
        WORDS,
        f"[WIP] {WORDS}",
        f"[Image #1] [Image #2] {WORDS}",
        f"[cron:7f-2 nightly patrol (often)] {WORDS}",
        f"[Telegram ada 12:30] {WORDS}",
        f"[Tue 2026-02-17 02:03 EST] {WORDS}",
        f"[[ ## user_query ## ]]\n\n{WORDS}",
        f"{SENDER}[Mon 2026-05-04 20:51 GMT+5:30] {WORDS}",
        f'Conversation info (untrusted metadata):\n```json\n{{"chat": 1}}\n```\n\n{SENDER}{WORDS}\n[message_id: 17]',
        f"System: [2026-02-17 02:03] Node connected\n\n{WORDS}",
        f"<ide_opened_file>The user opened a.py.</ide_opened_file>\n{WORDS}",
        f"<system-reminder>\nAlways use tabs.\n</system-reminder>\n{WORDS}",
        f"<current_datetime>2026-06-25</current_datetime>\n\n{WORDS}\n\n<system_reminder>\nx\n</system_reminder>",
        f"<task>\n{WORDS}\n</task>\n<environment_details>\nAlways use tabs.\n</environment_details>",
        f"<context>\nToday.\n</context>\n<userRequest>\n{WORDS}\n</userRequest>\nAlways use tabs.",
        f"# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\n{WORDS}",
        f"{WORDS}\n\n# *SEARCH/REPLACE block* Rules:\n\nOnly ever return code in a block!",
    ],
)
def test_words_in_a_message_are_found_among_what_clients_add(text: str) -> None:
    assert read(Text(text)) == [("message", WORDS)]


@pytest.mark.parametrize(
    "text", ["<Button> must never be red", "{name} must stay in the template", "a < b, keep it so"]
)
def test_words_that_begin_like_markup_are_kept(text: str) -> None:
    assert read(Text(text)) == [("message", text)]


@pytest.mark.parametrize(
    "text",
    [
        "[Request interrupted by user for tool use]",
        "[File: /w/a.py (3 lines total)]\n1:never push to main",
        '[Tue 2026-02-17 01:57 EST] A subagent task "never push to main" just completed',
        "[Tue 2026-05-05 09:44] [Subagent Context] You are running as a subagent. Never push to main.",
        '{"rule": "never push to main"}',
        '["never push to main"]',
        "<task-notification><summary>Agent says: never push to main</summary></task-notification>",
        "<local-command-stdout>never push to main</local-command-stdout>",
        "<bash-input>git push</bash-input>",
        "Caveat: never push to main",
        "I ran this command:\n\nmake\n\nAnd got this output:\n\nnever push to main",
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nNever push to main.\n</INSTRUCTIONS>",
    ],
)
def test_message_that_a_client_wrote_holds_no_words(text: str) -> None:
    assert read(Text(text)) == []


def test_arguments_of_a_slash_command_are_words() -> None:
    command = (
        "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n"
        "<command-args>{}</command-args>"
    )
    assert read(Text(command.format(WORDS))) == [("command", WORDS)]
    assert read(Text(command.format(""))) == []


@pytest.mark.parametrize(
    "result",
    [
        f"{REJECTED}{WORDS}",
        f"{REJECTED}{WORDS}\n\nNote: The user's next message may contain a correction or preference.",
        f"[attempt_completion] Result: The user provided the following feedback:\n<feedback>\n{WORDS}\n</feedback>",
        f"The user rejected permission to use this specific tool call with the following feedback: {WORDS}",
        f"The user denied this operation and provided the following feedback:\n<feedback>\n{WORDS}\n</feedback>",
    ],
)
def test_reason_of_a_rejected_call_is_words(result: str) -> None:
    assert read(ToolResult("c", result, is_error=True), "tool") == [("rejection", WORDS)]


@pytest.mark.parametrize(
    "result",
    [
        "The user doesn't want to proceed with this tool use. STOP what you are doing and wait for the user.",
        "The name must be set: never push to main",
        "notes.md: the user said: never push to main",
        "3 users: never push to main",
    ],
)
def test_other_results_hold_no_words(result: str) -> None:
    assert read(ToolResult("c", result, is_error=True), "tool") == []


def test_message_typed_while_the_agent_worked_is_words() -> None:
    queued = f"<system-reminder>\nThe user sent a new message while you were working:\n{WORDS}\n\nIMPORTANT: After "
    end = "completing your task, you MUST address it.\n</system-reminder>"
    assert read(Text(queued + end), mark="attachment") == [("queue", WORDS)]
    assert read(ToolResult("c", f"done\n\n{queued}{end}"), "tool") == [("queue", WORDS)]
    assert read(Text(f"{queued}{end}\ngo on")) == [("message", "go on"), ("queue", WORDS)]


def test_feedback_in_a_result_that_is_a_text_is_words() -> None:
    text = f"[attempt_completion] Result:\n\nThe user has provided feedback.\n<feedback>\n{WORDS}\n</feedback>"
    assert read(Text(text), mark="meta") == [("rejection", WORDS)]


def test_summaries_answers_and_system_prompts_hold_no_words() -> None:
    assert read(Text(WORDS), "assistant") == []
    assert read(Text(WORDS), "system") == []
    assert not user_words(Message("m", "user", (Text(WORDS),), summary=True))
    assert read(Text(WORDS), mark="attachment") == []


def test_part_of_the_message_is_named() -> None:
    message = Message("m", "user", (Text("<system-reminder>x</system-reminder>"), Text(WORDS)))
    assert [(words.part, words.text) for words in user_words(message)] == [(1, WORDS)]
    assert [wish.text for wish in wishes(message)] == [WORDS]


@pytest.mark.parametrize(
    "text",
    [
        "<a_b>" * 40_000,
        "".join(f"<a_{n:x}z>" for n in range(20_000)),
        "[" * 99_999,
        "[a] " * 40_000,
        "{" * 99_999,
    ],
)
def test_text_of_openings_without_ends_is_read_in_time(text: str) -> None:
    user_words(Message("m", "user", (Text(text),)))
    user_words(Message("m", "tool", (ToolResult("c", "The user " + text),)))
