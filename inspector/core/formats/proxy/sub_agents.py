"""Find the thread that started a sub-agent: one of its tool calls holds the sub-agent's task."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from inspector.core.buffer import View, head
from inspector.core.formats.proxy.conversation import Conversation, line_of
from inspector.core.formats.proxy.matching import HEAD
from inspector.core.message import Message, Opaque, Text, ToolCall

_SHORTEST_TASK = 12
"""Minimum number of characters of a tool call's argument that may be a sub-agent's task."""


class SubAgentTasks:
    """The text arguments of the tool calls of all threads. The task of each sub-agent is one of them."""

    def __init__(self) -> None:
        self._callers: dict[str, dict[tuple[int, str], Conversation]] = {}
        """The calling threads, by text, then by (number of the calling thread, id of the tool call)."""
        self._started: set[tuple[int, str]] = set()
        """Tool calls whose sub-agent is known, as (number of the calling thread, id of the tool call)."""

    def note_calls(self, thread: Conversation, message: Message) -> None:
        """Record the text arguments of the tool calls in a message."""
        for part in message.parts:
            if type(part) is ToolCall:
                for text in _read_tasks(part.arguments):
                    self._callers.setdefault(text, {})[thread.number, part.id] = thread

    def is_first_request(self, view: View) -> bool:
        """Is `view` the first buffer of a sub-agent? True if a user text in it is a known task, not yet answered."""
        if not self._callers:
            return False
        messages = head(view, HEAD)
        if any(message.role in ("assistant", "tool") for message in messages):
            return False
        return any(text in self._callers for text in _user_texts(messages))

    def find_parent(self, thread: Conversation) -> None:
        """Set the parent thread, the parent's tool call and the label of a sub-agent if they are unknown."""
        if not self._callers or thread.parent_call or not thread.steps:
            return
        if thread.parent is None and thread.key.strong and not thread.key.sub:
            return
        for text, caller, parent in self._possible_calls(thread):
            if caller not in self._started and _may_start(parent, thread):
                self._started.add(caller)
                _, call_id = caller
                thread.parent, thread.parent_call = parent, call_id
                thread.label = parent.label_of(call_id) or (
                    "" if thread.first_words else line_of(text)
                )
                return

    def forget_parents(self, threads: Sequence[Conversation]) -> None:
        """Forget the parents of all threads, so that they can be found again when more calls are known."""
        self._started.clear()
        for thread in threads:
            thread.parent, thread.parent_call, thread.label = None, "", ""

    def _possible_calls(
        self, thread: Conversation
    ) -> Iterator[tuple[str, tuple[int, str], Conversation]]:
        """Yield (text, caller, calling thread) for each text of the first buffer that a tool call has as an argument.

        The task may be the last message, because a sub-agent can inherit the messages before it.
        """
        view = thread.steps[0].body.view
        messages = (*islice(view.backwards(), 1), *head(view, HEAD))
        for text in _user_texts(messages):
            for caller, parent in self._callers.get(text, {}).items():
                yield text, caller, parent


def _may_start(parent: Conversation, thread: Conversation) -> bool:
    """May `parent` have started the thread? If the client names a parent or a session, `parent` must match it."""
    key = thread.key
    if key.parent and thread.parent is not None and thread.parent.key.thread == key.parent:
        return parent is thread.parent
    names_session = key.strong and key.session != key.thread
    if names_session and key.session not in (parent.key.session, parent.key.thread):
        return False
    return parent is not thread and parent.parent is not thread


def _user_texts(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the user's texts, and encrypted tasks. The tool call holds an encrypted task in the same form."""
    for message in messages:
        if message.role != "user":
            continue
        for part in message.parts:
            if isinstance(part, Text):
                yield part.text.strip()
            elif isinstance(part, Opaque) and isinstance(part.value, Mapping):
                encrypted = part.value.get("encrypted_content")
                if isinstance(encrypted, str):
                    yield encrypted.strip()


def _read_tasks(arguments: object) -> Iterator[str]:
    """Yield the arguments of a call that are long enough to be a task."""
    values = arguments.values() if isinstance(arguments, dict) else ()
    for value in values:
        text = value.strip() if isinstance(value, str) else ""
        if len(text) >= _SHORTEST_TASK:
            yield text
