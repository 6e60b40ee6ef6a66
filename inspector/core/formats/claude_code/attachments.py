"""Read attachments, which the client adds to the user's messages, as the text that the model reads.

From 2.1.330 on a record holds that text (`rendered`). Earlier versions record only the facts, without the words that
the client puts around them. For these versions the text given here holds the facts under a short label of our own.
"""

from collections.abc import Callable, Mapping
from typing import Any

from inspector.core.dialects.anthropic import read_wire_messages
from inspector.core.formats.claude_code.records import ChainRecord
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Message, Part, Role, Text
from inspector.core.untyped import object_of, text_at, texts_at


def read_attachment(record: ChainRecord, id_: str) -> tuple[Message, ...] | None:
    """Return the messages that an `attachment` record adds to the buffer, often none; None for an unknown kind."""
    value = record.value
    attachment = object_of(value, "attachment")
    kind = text_at(attachment, "type")
    # Typed while the agent worked: a prompt like any other, with no `user` record.
    if kind == "queued_command":
        prompt = attachment.get("prompt")
        return (
            read_wire_messages("user", prompt, id=id_, line=record.line, time=record.time)
            if prompt
            else ()
        )
    if kind == "file" and (picture := _picture(attachment)) is not None:
        return _attached(record, id_, picture)
    rendered = value.get("rendered")
    if isinstance(rendered, list):
        role: Role = "system" if value.get("renderedRole") == "system" else "user"
        return _attached_text(
            record,
            id_,
            text="\n".join(filter(None, (text_at(block, "content") for block in rendered))),
            role=role,
        )
    if kind in _SENT:
        return _attached_text(record, id_, _SENT[kind](attachment))
    return () if kind in _NOT_SENT else None


def _attached_text(
    record: ChainRecord, id_: str, text: str, role: Role = "user"
) -> tuple[Message, ...]:
    return _attached(record, id_, part=Text(text), role=role) if text else ()


def _attached(
    record: ChainRecord, id_: str, part: Part, role: Role = "user"
) -> tuple[Message, ...]:
    return (
        Message(id_, role, parts=(part,), mark="attachment", line=record.line, time=record.time),
    )


def _picture(attachment: Mapping[str, Any]) -> Image | None:
    file = object_of(object_of(attachment, "content"), "file")
    data = text_at(file, "base64")
    is_image = text_at(attachment.get("content"), "type") == "image"
    return Image(text_at(file, "type"), data) if data and is_image else None


def _labelled(label: str, key: str) -> Callable[[Mapping[str, Any]], str]:
    def words(attachment: Mapping[str, Any]) -> str:
        text = _plain(attachment.get(key))
        return f"{label}:\n{text}" if text else ""

    return words


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(item if isinstance(item, str) else dumps(item) for item in value)
    return dumps(value) if value else ""


def _file(attachment: Mapping[str, Any]) -> str:
    """Return the text of an attached file, with line numbers as the client's Read tool writes them."""
    content = object_of(attachment, "content")
    file = object_of(content, "file")
    body = text_at(file, "content")
    first = file.get("startLine")
    first = first if type(first) is int else 1
    numbered = "\n".join(f"{first + n}\t{line}" for n, line in enumerate(body.split("\n")))
    return f"File {text_at(attachment, 'filename')}:\n{numbered}" if body else ""


def _file_reference(attachment: Mapping[str, Any]) -> str:
    return f"File {text_at(attachment, 'filename')} was read before the compaction; it is too large to be included."


def _edited(attachment: Mapping[str, Any]) -> str:
    return f"File {text_at(attachment, 'filename')} was changed:\n{text_at(attachment, 'snippet')}"


def _memory(attachment: Mapping[str, Any]) -> str:
    text = text_at(object_of(attachment, "content"), "content")
    return f"Contents of {text_at(attachment, 'path')}:\n{text}" if text else ""


def _hook(attachment: Mapping[str, Any]) -> str:
    """Return the output of a successful hook. Only SessionStart and UserPromptSubmit hooks send it to the model."""
    if text_at(attachment, "hookEvent") not in ("SessionStart", "UserPromptSubmit"):
        return ""
    text = text_at(attachment, "content")
    return f"{text_at(attachment, 'hookName')} hook:\n{text}" if text else ""


def _hook_words(attachment: Mapping[str, Any]) -> str:
    text = _plain(
        attachment.get("content") or object_of(attachment, "blockingError").get("blockingError")
    )
    return f"{text_at(attachment, 'hookName')} hook:\n{text}" if text else ""


def _delta(label: str, added_key: str, removed_key: str) -> Callable[[Mapping[str, Any]], str]:
    def words(attachment: Mapping[str, Any]) -> str:
        added = texts_at(attachment, added_key)
        removed = texts_at(attachment, removed_key)
        lines = [f"{label}, now available:", *added] if added else []
        if removed:
            lines += [f"{label}, no longer available:", *removed]
        return "\n".join(lines)

    return words


def _tasks(attachment: Mapping[str, Any]) -> str:
    text = _plain(attachment.get("content"))
    return "Reminder of the task list." + (f"\n{text}" if text else "")


_SENT: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "agent_listing_delta": _delta("Agent types", "addedLines", "removedTypes"),
    "compact_file_reference": _file_reference,
    "date": _labelled("Date", "date"),
    "date_change": _labelled("Date", "newDate"),
    "deferred_tools_delta": _delta("Deferred tools", "addedLines", "removedNames"),
    "diagnostics": _labelled("Diagnostics", "files"),
    "edited_text_file": _edited,
    "environment": _labelled("Environment", "snapshot"),
    "file": _file,
    "hook_additional_context": _hook_words,
    "hook_blocking_error": _hook_words,
    "hook_success": _hook,
    "invoked_skills": _labelled("Skills invoked", "skills"),
    "mcp_instructions_delta": _delta("Instructions of MCP servers", "addedBlocks", "removedNames"),
    "mcp_resource": _labelled("MCP resource", "content"),
    "model": _labelled("Model", "text"),
    "nested_memory": _memory,
    "opened_file_in_ide": _labelled("File opened in the editor", "filename"),
    "output_style": _labelled("Output style", "style"),
    "plan_file_reference": _labelled("Plan", "planContent"),
    "selected_lines_in_ide": _labelled("Selected in the editor", "content"),
    "session_context": _labelled("Session", "context"),
    "skill_listing": _labelled("Skills", "content"),
    "task_reminder": _tasks,
    "task_status": _labelled("Task", "deltaSummary"),
    "todo": _tasks,
    "todo_reminder": _tasks,
}

_NOT_SENT = frozenset(
    {
        "already_read_file",
        "async_hook_response",
        "auto_mode",
        "command_permissions",
        "dynamic_skill",
        "hook_cancelled",
        "hook_error_during_execution",
        "hook_non_blocking_error",
        "hook_permission_decision",
        "hook_stopped_continuation",
        "hook_system_message",
        "prompt_snapshot",
        "remote_session_change",
        "structured_output",
    }
)
"""Attachments that add no message: the client only shows them, or their text is not in the file."""
