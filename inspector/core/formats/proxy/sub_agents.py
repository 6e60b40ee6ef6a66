"""Who started a sub-agent: the call of another thread that holds its task."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from inspector.core.buffer import View, head
from inspector.core.formats.proxy.conversation import Conversation, line_of
from inspector.core.formats.proxy.matching import HEAD
from inspector.core.message import Message, Opaque, Text, ToolCall

_SHORTEST_TASK = 12
"""Characters of an argument of a call, at least, that may be a sub-agent's task."""


class SubAgentTasks:
    """The texts that calls of all threads were given: the task of each sub-agent is one of them."""

    def __init__(self) -> None:
        self._callers: dict[str, dict[tuple[int, str], Conversation]] = {}
        """By text, then by number of the calling thread and id of the call."""
        self._started: set[tuple[int, str]] = set()
        """Calls whose sub-agent is known."""

    def note_calls(self, thread: Conversation, message: Message) -> None:
        """Note the texts that the calls of a message were given."""
        for part in message.parts:
            if type(part) is ToolCall:
                for text in _read_tasks(part.arguments):
                    self._callers.setdefault(text, {})[thread.number, part.id] = thread

    def is_first_request(self, view: View) -> bool:
        """Is it the first buffer of a sub-agent: was a call given what its user says, and nothing answered yet?"""
        if not self._callers:
            return False
        messages = head(view, HEAD)
        if any(message.role in ("assistant", "tool") for message in messages):
            return False
        return any(text in self._callers for text in _user_texts(messages))

    def find_parent(self, thread: Conversation) -> None:
        """Set the parent, its call and the label of a sub-agent if they are not known."""
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
        """Forget who started whom, so that it can be found again with all that is known by then."""
        self._started.clear()
        for thread in threads:
            thread.parent, thread.parent_call, thread.label = None, "", ""

    def _possible_calls(
        self, thread: Conversation
    ) -> Iterator[tuple[str, tuple[int, str], Conversation]]:
        """Yield (text, caller, calling thread) for each text of the first buffer that a call was given.

        The task may be the last message: a sub-agent can inherit what came before it.
        """
        view = thread.steps[0].body.view
        messages = (*islice(view.backwards(), 1), *head(view, HEAD))
        for text in _user_texts(messages):
            for caller, parent in self._callers.get(text, {}).items():
                yield text, caller, parent


def _may_start(parent: Conversation, thread: Conversation) -> bool:
    """May `parent` have started the thread? If the client names the parent or the session, only that one may have."""
    key = thread.key
    if key.parent and thread.parent is not None and thread.parent.key.thread == key.parent:
        return parent is thread.parent
    names_session = key.strong and key.session != key.thread
    if names_session and key.session not in (parent.key.session, parent.key.thread):
        return False
    return parent is not thread and parent.parent is not thread


def _user_texts(messages: Sequence[Message]) -> Iterator[str]:
    """Yield what the user says, and tasks that only the provider can read (they are encrypted in the call, too)."""
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
