"""What a file records beside the messages, and after which a client may call in another way: signs for cache breaks."""

from typing import Any

from inspector.core.formats.claude_code.reader import ClaudeCodeReader
from inspector.core.formats.codex.reader import CodexReader
from inspector.core.formats.pi.reader import PiReader
from inspector.core.session import Sign


def signs(reader: Any, *records: dict[str, Any]) -> list[tuple[str, str, int]]:
    for line, record in enumerate(records, 1):
        reader.feed(line, record)
    found: list[Sign] = list(reader.session().signs)
    assert all(one.thread == "main" for one in found)
    return [(one.kind, one.what, one.line) for one in found]


def claude(kind: str, n: int, **more: Any) -> dict[str, Any]:
    parent = f"u{n - 1}" if n > 1 else None
    return {
        "type": kind,
        "uuid": f"u{n}",
        "parentUuid": parent,
        "version": "2.1.36",
        "sessionId": "s",
        **more,
    }


def said(text: str) -> dict[str, Any]:
    return {"message": {"role": "user", "content": text}}


def test_claude_code_started_again_with_another_version_mode_tools_and_a_skill() -> None:
    skill = {"type": "tool_use", "id": "t", "name": "Skill", "input": {"skill": "review"}}
    answer = {"id": "m", "role": "assistant", "model": "claude-opus-4-6", "content": [skill]}
    delta = {"type": "deferred_tools_delta", "addedNames": ["mcp__a__b"], "removedNames": ["Old"]}
    hook = {"type": "hook_progress", "hookName": "SessionStart:resume"}
    assert signs(
        ClaudeCodeReader(),
        claude("user", 1, **said("hello"), permissionMode="default"),
        claude("assistant", 2, message=answer),
        claude("user", 3, **said("<command-name>/exit</command-name>")),
        claude("progress", 4, data=hook),
        claude("user", 5, **said("again"), permissionMode="plan") | {"version": "2.1.37"},
        claude("attachment", 6, attachment=delta) | {"version": "2.1.37"},
        claude("user", 7, **said("<command-name>/review</command-name>")) | {"version": "2.1.37"},
        claude("user", 8, **said("of a sub-agent"), isSidechain=True, agentId="a")
        | {"version": "1.0.0"},
    ) == [
        ("settings", "the skill review was launched", 2),
        ("restart", "the command /exit was given", 3),
        ("restart", "the client was started (SessionStart:resume)", 4),
        ("restart", "Claude Code 2.1.36 became 2.1.37", 5),
        ("settings", "mode default became plan", 5),
        ("tools", "tools: mcp__a__b came, Old went", 6),
        ("settings", "the command /review was given", 7),
    ]


def test_codex_opened_again_and_its_settings_of_a_turn() -> None:
    def record(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}

    assert signs(
        CodexReader(),
        record("session_meta", id="s", cli_version="1"),
        record("turn_context", model="gpt-5", effort="high", current_date="2026-01-01"),
        record("turn_context", model="gpt-5", effort="high", current_date="2026-01-01"),
        record("turn_context", model="gpt-5", effort="low", current_date="2026-01-02"),
        record("session_meta", id="s", cli_version="1"),
        record("session_meta", id="of-its-parent", cli_version="1"),
    ) == [
        ("settings", "current date changed", 4),
        ("settings", "effort changed", 4),
        ("restart", "the session was opened again", 5),
    ]


def test_pi_only_where_the_level_is_another_when_it_calls() -> None:
    def level(name: str) -> dict[str, Any]:
        return {"type": "thinking_level_change", "thinkingLevel": name}

    def user(text: str) -> dict[str, Any]:
        return {
            "type": "message",
            "message": {"role": "user", "content": [{"type": "text", "text": text}]},
        }

    assert signs(
        PiReader(),
        {"type": "session", "id": "s"},
        level("off"), user("one"), level("high"), level("off"), user("two"), level("high"), user("three"),
    ) == [("settings", "thinking level off became high", 8)]  # fmt: skip
