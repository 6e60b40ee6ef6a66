"""Messages, which the model reads: a role and parts. Every value here is immutable.

A tool result is a separate message (role `tool`), with the result as its first part and any images of the result after
it. Messages of one wire message share `together`; the wire adapters join them again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from inspector.core.jsontext import dumps
from inspector.core.quick import quick

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Json: TypeAlias = Mapping[str, Any] | Sequence[Any] | str | int | float | bool | None
"""A parsed JSON value. Treated as frozen: it is never changed after it was read."""


@quick
@dataclass(frozen=True, slots=True)
class Text:
    """Text the model reads or wrote."""

    text: str


@quick
@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning. `text` is the visible part; `signature` is opaque (its characters are not text)."""

    text: str
    signature: str = ""
    tokens: int | None = None
    """Tokens that the provider reported for it; None if it reported none. The text may be a summary, or empty."""


@quick
@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call by the model. `arguments` is the parsed JSON, or a `str` if the wire held free text."""

    id: str
    name: str
    arguments: Json


@quick
@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of the call `call_id`. `content` is its text; images follow as parts of the same message."""

    call_id: str
    content: str
    is_error: bool = False
    texts: tuple[str, ...] = ()
    """The text blocks, if the wire held a list of blocks: `content` is these blocks joined by newlines."""

    @property
    def blocks(self) -> tuple[str, ...]:
        """Return the text blocks; empty if the wire held a single text, or if `content` was replaced since."""
        return self.texts if self.texts and "\n".join(self.texts) == self.content else ()


@dataclass(frozen=True, slots=True)
class Image:
    """An image. `data` is base64 if the transcript holds the bytes; if not, it is empty and `url` is the address."""

    media_type: str
    data: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something only the provider can read (an encrypted compaction, a server tool's state), kept unchanged.

    `size` is in bytes of the part that the provider reads.
    """

    kind: str
    value: Json
    size: int = 0
    tokens: int | None = None
    """Its tokens by the provider's counts; None if they do not show it."""

    @property
    def text(self) -> str:
        """Return the readable content: the summary of a compaction that the provider made inside a call, else empty."""
        if self.kind != "compaction" or not isinstance(self.value, Mapping):
            return ""
        content = self.value.get("content")
        return content if isinstance(content, str) else ""


Part: TypeAlias = Text | Thinking | ToolCall | ToolResult | Image | Opaque


def part_text(part: Part) -> str:
    """Return the readable text of a part: for a call its name and arguments, for an image nothing."""
    match part:
        case Text(text) | Thinking(text) | ToolResult(content=text):
            return text
        case Opaque():
            return part.text
        case ToolCall(name=name, arguments=arguments):
            return f"{name} {arguments if isinstance(arguments, str) else dumps(arguments)}"
        case Image():
            return ""


Mark: TypeAlias = Literal["", "meta", "attachment", "placeholder"]
"""meta: written by the client in the user's name; attachment: a reminder the client added;
placeholder: the content was cleared by a recorded compaction."""


@quick
@dataclass(frozen=True, slots=True)
class Message:
    """One message. `id` is stable: an edited message is a new object with the same id, so a diff is a merge by id."""

    id: str
    role: Role
    parts: tuple[Part, ...]
    together: str = ""
    summary: bool = False
    mark: Mark = ""
    line: int = 0
    """1-based line in the transcript, 0 if there is none."""
    time: str = ""
    """ISO 8601 as recorded, or empty."""
    counts: dict[str, int] = field(
        default_factory=dict, init=False, compare=False, repr=False, hash=False
    )
    """Cache of the message's weights, by name of the estimator."""

    @property
    def text(self) -> str:
        """Return the text parts and readable provider summaries, joined by newlines; no tool results, no thinking."""
        texts = (
            part
            for part in self.parts
            if isinstance(part, Text) or (isinstance(part, Opaque) and part.text)
        )
        return "\n".join(part.text for part in texts)

    @property
    def from_user(self) -> bool:
        """Did the user write the message (not the client, and not as a summary)?"""
        return self.role == "user" and not self.mark and not self.summary

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Return the tool calls of this message, in order."""
        # Fast path: most messages have no calls, and policies ask often.
        if ToolCall not in map(type, self.parts):
            return ()
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def result(self) -> ToolResult | None:
        """Return the tool result of a message of role `tool`; None for other messages."""
        for part in self.parts:
            if isinstance(part, ToolResult):
                return part
        return None
