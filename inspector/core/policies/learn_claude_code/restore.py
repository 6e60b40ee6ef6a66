"""The files that were read last, read again: they stand behind the summary (spec 4.7).

Newest first, each once. What cannot be read (missing, unreadable, outside the workspace: who reads decides) does not
count.
"""

from collections.abc import Iterator, Sequence

from inspector.core.message import Message, ToolCall
from inspector.core.needs import Answer, Conversation, Failure, ReadFile
from inspector.core.policies.learn_claude_code.settings import Settings
from inspector.core.policies.learn_claude_code.wire import text_tokens

_PATH_KEYS = ("path", "file_path")
"""learn-claude-code's own argument, and the one of the client it learned from."""


def recent_reads(messages: Sequence[Message], settings: Settings) -> Iterator[tuple[str, ToolCall]]:
    """(path, call) of the reading calls, newest first; of each path the first sighting."""
    seen: set[str] = set()
    for message in reversed(messages):
        for call in reversed(message.calls):
            path = _path(call.arguments) if call.name in settings.restore_tools else ""
            if path and path not in seen:
                seen.add(path)
                yield path, call


def _path(arguments: object) -> str:
    if not isinstance(arguments, dict):
        return ""
    return next((value for key in _PATH_KEYS if isinstance(value := arguments.get(key), str)), "")


def restored(messages: Sequence[Message], settings: Settings) -> Conversation[str]:
    """The text to append; empty where no file could be read. Asks for one file after the other, until it has enough."""
    limit = settings.max_restore_tokens_per_file * 4
    recorded = _recorded(messages)
    found: list[str] = []
    total = 0
    for path, call in recent_reads(messages, settings):
        if len(found) >= settings.max_restore_files:
            break
        try:
            answer: Answer = yield ReadFile(path, limit, recorded.get(call.id))
        except Failure:
            continue
        content = answer.text[:limit]
        total += text_tokens(content)
        if total > settings.max_restore_tokens_total:
            break
        found.append(f"[Restored after compact] {path}:\n{content}")
    return "\n\n".join(found)


def _recorded(messages: Sequence[Message]) -> dict[str, str]:
    """What calls brought back, by their ids; errors and what was cleared since are left out."""
    results = ((message, message.result) for message in messages)
    return {r.call_id: r.content for m, r in results if r is not None and not r.is_error and m.mark != "placeholder"}
