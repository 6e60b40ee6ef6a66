"""One row per message, computed when it is shown, and the kinds of messages by which the list can be filtered.

Also a readable summary for a compaction that only the provider can read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.calls import (
    ATTACHED_FILE,
    LONGEST_SUBJECT,
    CallIndex,
    path_of,
    subject_of,
    writes,
)
from inspector.core.errors import Cancelled
from inspector.core.findings.composition import Category, message_category
from inspector.core.jsontext import dumps
from inspector.core.message import (
    Image,
    Json,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    part_text,
)
from inspector.core.needs import Summarize
from inspector.core.offline import summarise
from inspector.core.words import plural
from inspector.workbench.state import State

Badge: TypeAlias = Literal["error", "image", "thinking", "cleared", "opaque"]
RowRole: TypeAlias = Literal[
    "user", "assistant", "system", "result", "summary", "file", "reminder", "client"
]
"""The role of a message on the screen: a role of the API, or what a client wrote in the user's role."""
FIRST_LINE = 400
"""Maximum length of a first line, in characters."""
_LOOK = 4000
"""Number of characters in which the first line is searched for."""
_SAYS_LITTLE = re.compile(
    r"(chunk id|wall time|exit code|original token count|total output lines|duration|session id)\b.*|output:|stdout:"
    r"|process (exited with code|running with session id) .*|[.sxFEX]+ *\[ *\d+%\]|</?[\w-]+>|```\w*|[\W_]*",
    re.IGNORECASE,
)
"""Matches a line of a result that says little: frames, counts, the dots of a test run."""
_NUMBERED = re.compile(r"\d+(\t|→| ?\|)\s*")
"""Matches the line number in front of a line of a file that was read."""
_EMPTY = re.compile(r"(output|stdout):", re.IGNORECASE)
"""Matches the last line of a result without output."""
_TAG = re.compile(r"<[\w:-]+>")
"""Matches a line that holds only an opening tag, which clients put around text that they add."""
ATTACHED = "attached"


@dataclass(frozen=True, slots=True)
class MessageRow:
    """The columns of a message's row.

    `subject` and `line` are text of the transcript: plain text without line breaks, never markup.
    """

    role: RowRole
    tool: str
    subject: str
    """The files, commands or queries of the message's calls, or of the call that it answers; or the file that a client
    attached. Empty for other messages.
    """
    line: str
    """The first line of the message's text."""
    badges: tuple[Badge, ...]
    category: Category
    size: str = ""
    """The amount of content: `106 lines`, `3 calls`, `5,094 chars`; empty if the message holds no text."""

    @property
    def text(self) -> str:
        """Return subject and line as one text."""
        return f"{self.subject}  {self.line}".strip()


NO_CALLS = CallIndex()


def message_row(message: Message, index: CallIndex = NO_CALLS) -> MessageRow:
    """Return the row of a message. `index` holds the calls of its thread."""
    calls = message.calls
    answered = index.call_of(message)
    subject = index.subject_of(message)
    line = first_line(message)
    tool = answered.name if answered is not None else ""
    if calls:
        tool = calls[0].name + (f" +{len(calls) - 1}" if len(calls) > 1 else "")
    elif answered is not None and writes(answered):
        line = _beside_path(message, path_of(answered), line)
    elif message.mark == "attachment" and (attached := ATTACHED_FILE.fullmatch(line)):
        tool = ATTACHED
        subject = index.shown_path(attached["path"])
        line = _attached_line(message, (attached["state"] or "").strip())
    return MessageRow(
        message_role(message),
        tool,
        subject,
        line,
        badges(message),
        message_category(message),
        message_size(message),
    )


def message_role(message: Message) -> RowRole:
    """Return the role that the screen shows for the message."""
    if message.summary:
        return "summary"
    if message.role == "tool":
        return "result"
    if message.role == "user" and message.mark == "attachment":
        return "file" if ATTACHED_FILE.fullmatch(first_line(message)) else "reminder"
    if message.role == "user" and message.mark == "meta":
        return "client"
    return message.role


def message_size(message: Message) -> str:
    """Return the number of calls, of lines of a result or file, or of characters of a text in the message."""
    if message.calls:
        return plural(len(message.calls), "call")
    texts = [
        part.content if isinstance(part, ToolResult) else part_text(part) for part in message.parts
    ]
    characters = sum(map(len, texts))
    if not characters:
        return ""
    lines = sum(text.rstrip("\n").count("\n") + 1 for text in texts if text)
    is_listed = message.role == "tool" or message.mark == "attachment"
    return plural(lines, "line") if is_listed and lines > 1 else plural(characters, "char")


def _attached_line(message: Message, state: str) -> str:
    """Return the file's state, such as `was changed`, or the first informative line of the attached file."""
    return state or next(
        (informative_line(text.partition("\n")[2]) for text in _texts(message)), ""
    )


def _texts(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text)]


def _beside_path(message: Message, path: str, line: str) -> str:
    """Return the first informative line of a result that does not name the written file; `line` if the result is an
    error.
    """
    result = message.result
    if result is None or result.is_error or not path:
        return line
    return informative_line(
        "\n".join(text for text in result.content[:_LOOK].splitlines() if path not in text)
    )


def first_line(message: Message) -> str:
    """Return the first line of a message that is not blank: of its text, or the first informative line of its result.

    A message with neither gives a call's arguments without its subject, or the first line of its thinking.
    """
    for part in message.parts:
        match part:
            case Text(text) | Opaque(text=text) if line := _tagged_line(text):
                return line
            case ToolResult(content=text) if line := informative_line(text):
                return line
            case _:
                pass
    if message.calls:
        return _arguments(message.calls[0])
    for part in message.parts:
        match part:
            case Thinking(text) if line := _line(text):
                return line
            case Image(media_type=kind):
                return kind
            case Opaque(kind=kind):
                return kind
            case _:
                pass
    return "(no output)" if message.result is not None else ""


def _arguments(call: ToolCall) -> str:
    """Return the arguments of a call except its subject, without brackets: `timeout: 5  background: true`."""
    subject = subject_of(call)
    if not isinstance(call.arguments, Mapping):
        return "" if subject else _line(dumps(call.arguments))
    values = {_line(name): _value(value) for name, value in call.arguments.items()}
    words = [
        f"{name}: {value}" for name, value in values.items() if not _begins_subject(value, subject)
    ]
    return "  ".join(words)[:FIRST_LINE]


def _begins_subject(value: str, subject: str) -> bool:
    return bool(value) and subject.startswith(value[:LONGEST_SUBJECT].rstrip())


def _value(value: Json) -> str:
    """Return one argument as a line; for a shell call (`sh -c COMMAND`) only the command."""
    if isinstance(value, str):
        return _line(value)
    if not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
        return _line(dumps(value))
    words = [str(item) for item in value]
    is_shell_call = len(words) == 3 and words[1] in ("-c", "-lc")
    return _line(words[2] if is_shell_call else " ".join(words))


def informative_line(text: str) -> str:
    """Return the first informative line of a result, without its line number; otherwise the last line that is not
    blank.
    """
    last = ""
    for line in text[:_LOOK].splitlines():
        if not (stripped := line.strip()):
            continue
        bare = _NUMBERED.sub("", line.lstrip(), count=1).rstrip()
        if bare and not _SAYS_LITTLE.fullmatch(bare):
            return " ".join(bare[:FIRST_LINE].split())
        last = stripped
    return "" if _EMPTY.fullmatch(last) else " ".join(last[:FIRST_LINE].split())


def _tagged_line(text: str) -> str:
    """Return the first line that is not blank; if it holds only a tag, append the next line."""
    line = _line(text)
    if not _TAG.fullmatch(line):
        return line
    return f"{line} {_line(text.partition(line)[2])}"[:FIRST_LINE].rstrip()


def _line(text: str) -> str:
    for line in text[:_LOOK].splitlines():
        if stripped := line.strip():
            return " ".join(stripped[:FIRST_LINE].split())
    return ""


def badges(message: Message) -> tuple[Badge, ...]:
    """Return the badges of a message, most urgent first."""
    shown_badges: list[Badge] = []
    if any(isinstance(part, ToolResult) and part.is_error for part in message.parts):
        shown_badges.append("error")
    if message.mark == "placeholder":
        shown_badges.append("cleared")
    kinds: tuple[tuple[type, Badge], ...] = (
        (Image, "image"),
        (Thinking, "thinking"),
        (Opaque, "opaque"),
    )
    part_types = {type(part) for part in message.parts}
    shown_badges += [name for kind, name in kinds if kind in part_types]
    return tuple(shown_badges)


def is_error(message: Message) -> bool:
    """Does the message hold a failed tool result?"""
    return any(isinstance(part, ToolResult) and part.is_error for part in message.parts)


def is_edit(message: Message) -> bool:
    """Does the message call a tool that writes a file?"""
    return any(writes(call) for call in message.calls)


def is_from_user(message: Message) -> bool:
    """Did the user write the message, and not the client in the user's role?"""
    return message_role(message) == "user"


_KINDS: dict[str, Callable[[Message], bool]] = {
    "User": is_from_user,
    "Assistant": lambda message: message.role == "assistant",
    "Results": lambda message: message.role == "tool",
    "System": lambda message: message.role == "system",
    "Errors": is_error,
    "Edits": is_edit,
    "Files and reminders": lambda message: (
        message.role == "user" and message.mark in ("attachment", "meta")
    ),
    "Summaries": lambda message: message.summary,
    "Images": lambda message: any(isinstance(part, Image) for part in message.parts),
    "Cleared": lambda message: message.mark == "placeholder",
}
KINDS = ("All", *_KINDS)


def next_of_kind(messages: Sequence[Message], kind: str, at: int, by: int) -> int | None:
    """Return the index of the next message of a kind after `at`; with `by` -1, of the previous one. O(messages).

    Raises KeyError for an unknown kind.
    """
    is_wanted = _KINDS[kind]
    places = range(at + 1, len(messages)) if by > 0 else range(at - 1, -1, -1)
    return next((place for place in places if is_wanted(messages[place])), None)


def of_kind(messages: Sequence[Message], kind: str) -> list[int] | None:
    """Return the indices of the messages of a kind; None if the kind is All. Raises KeyError for an unknown kind."""
    if kind == KINDS[0]:
        return None
    is_of_kind = _KINDS[kind]
    return [index for index, message in enumerate(messages) if is_of_kind(message)]


def with_text(
    messages: Sequence[Message],
    text: str,
    among: Sequence[int] | None,
    cancelled: Callable[[], bool],
) -> list[int]:
    """Return the indices of the messages that hold `text`, ignoring case. Raises Cancelled."""
    needle = text.casefold()
    matches = []
    for index in range(len(messages)) if among is None else among:
        if cancelled():
            raise Cancelled("The filter was changed.")
        if any(needle in part_text(part).casefold() for part in messages[index].parts):
            matches.append(index)
    return matches


NAME = (
    "readable summary · extracted offline from the same messages; the model does not see this text"
)


def readable_summary(state: State, message: Message) -> str:
    """Return the offline summary to show with a message; empty unless it is an opaque compaction of known messages."""
    sealed = (
        part for part in message.parts if isinstance(part, Opaque) and "compaction" in part.kind
    )
    if all(part.text for part in sealed):
        return ""
    replaced = _removed_by_step(state, message) or _removed_by_recording(state, message)
    return summarise(Summarize("", "", source=replaced)) if replaced else ""


def _removed_by_step(state: State, message: Message) -> tuple[Message, ...]:
    """Return the messages that were summarised by the step that inserted `message`."""
    steps = state.steps
    for step in reversed(steps.path() if steps else ()):
        assert steps is not None
        fates = steps.fates(step)
        if any(fate.id == message.id and fate.name == "inserted" for fate in fates):
            return tuple(
                fate.before
                for fate in fates
                if fate.name == "summarised" and fate.before is not None
            )
    return ()


def _removed_by_recording(state: State, message: Message) -> tuple[Message, ...]:
    """Return the messages that a recorded compaction removed from the buffer."""
    thread = state.thread
    for compaction in thread.compactions if thread else ():
        if thread is None or compaction.summary is None or compaction.summary.id != message.id:
            continue
        request = compaction.before_request
        before = Buffer(thread.requests[request - 1].view.messages()) if request else Buffer(())
        ids_after = {message_after.id for message_after in thread.place(request).view.messages()}
        return tuple(
            message_before
            for message_before in before.messages
            if message_before.id not in ids_after
        )
    return ()


_REASONS = 3
"""Maximum number of notes of a session that are shown to explain why it is empty; more would hide the first."""


def no_messages_words(state: State) -> str:
    """Say why the shown buffer has no messages, using the notes of the file's reader if there are any."""
    session = state.session
    thread = state.thread
    if session is None or thread is None:
        return "Nothing is open."
    if thread.messages:
        return "This buffer has no messages."
    return " ".join(["The file records no messages.", *session.notes[:_REASONS]])
