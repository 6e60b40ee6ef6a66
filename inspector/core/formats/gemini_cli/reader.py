"""Read Gemini CLI sessions: the main chat and the chats of its sub-agents, one thread per chat."""

from collections.abc import Mapping
from typing import Any

from inspector.core.formats.gemini_cli.chat import Chat
from inspector.core.formats.reading import ProblemList, note_shared_ids
from inspector.core.prefix import Prefix
from inspector.core.session import BEGINS_LATE, Session, Thread
from inspector.core.untyped import text_at

NAME = "gemini-cli"


class GeminiReader:
    """The `Reader` of Gemini CLI's chats."""

    def __init__(self) -> None:
        self._problems = ProblemList()
        self._main = Chat("", self._problems)
        self._chats: dict[str, Chat] = {}
        self._headless = False

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take one record, or the whole document. Malformed records become problems and never raise."""
        chat = self._chat(file)
        if not isinstance(value, dict):
            self._problems.note(line, "not a record", value, file)
        elif isinstance(name := value.get("$rewindTo"), str):
            chat.rewind(name)
        elif isinstance(patch := value.get("$set"), dict):
            self._patch(chat, line, patch)
        elif "id" in value and ("type" in value or "content" in value):
            self._headless = self._headless or not (chat.file or "sessionId" in chat.header)
            chat.take(line, value)
        elif isinstance(value.get("sessionId"), str):
            self._begin(chat, line, value)
        else:
            self._problems.note(line, "not a message of a session", value, file)

    def _chat(self, file: str) -> Chat:
        if not file:
            return self._main
        chat = self._chats.get(file)
        if chat is None:
            chat = self._chats[file] = Chat(file, self._problems)
        return chat

    def _begin(self, chat: Chat, line: int, value: Mapping[str, Any]) -> None:
        """Take the header. In older files the header also holds the messages."""
        messages = value.get("messages")
        chat.header |= {key: field for key, field in value.items() if key != "messages"}
        for n, message in enumerate(messages if isinstance(messages, list) else ()):
            if isinstance(message, dict):
                chat.take(line, message, n)
            else:
                self._problems.note(line, "not a message of a session", message, chat.file)

    def _patch(self, chat: Chat, line: int, patch: Mapping[str, Any]) -> None:
        chat.header |= {key: field for key, field in patch.items() if key != "messages"}
        if isinstance(messages := patch.get("messages"), list):
            chat.replace(line, messages)

    def session(self) -> Session:
        """Return the session so far."""
        name = text_at(self._main.header, "sessionId")
        own = [
            chat
            for chat in self._chats.values()
            if not name or chat.file.rpartition("/")[0].endswith(name)
        ]
        main = self._main.so_far()
        threads = [_thread(chat, main.spawned) for chat in own if not chat.is_empty()]
        main.begins_late = self._headless
        notes = [BEGINS_LATE] if self._headless else []
        notes += note_shared_ids(sum(chat.shared_ids for chat in (self._main, *own)))
        if text_at(self._main.header, "kind") == "subagent":
            notes.append("This is the chat of a sub-agent.")
        return Session(
            format=NAME,
            threads=(main.thread(), *threads),
            problems=Prefix(self._problems),
            client="Gemini CLI",
            id=name,
            notes=tuple(notes),
        )


def _thread(chat: Chat, spawned: Mapping[str, str]) -> Thread:
    copied = chat.so_far()
    copied.id, copied.parent = text_at(chat.header, "sessionId") or chat.file, "main"
    copied.parent_call = spawned.get(copied.id, "")
    return copied.thread()
