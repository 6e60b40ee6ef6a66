"""What the model reads: a message is a role and parts. Every value here is immutable.

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
    """Reasoning. `text` is what is visible; `signature` is opaque to us (its characters are not text)."""

    text: str
    signature: str = ""
    tokens: int | None = None
    """What the provider reported for it, where it did: the text may be a summary, or nothing at all."""


@quick
@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call by the model. `arguments` is the parsed JSON; a `str` where the wire held free text."""

    id: str
    name: str
    arguments: Json


@quick
@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came back for the call `call_id`. `content` is the text; images follow as parts of the same message."""

    call_id: str
    content: str
    is_error: bool = False
    texts: tuple[str, ...] = ()
    """The text blocks, where the wire held a list of blocks: `content` is them, joined by newlines."""

    @property
    def blocks(self) -> tuple[str, ...]:
        """The text blocks of a list; empty for a text, which it is, too, when its content was replaced."""
        return self.texts if self.texts and "\n".join(self.texts) == self.content else ()


@dataclass(frozen=True, slots=True)
class Image:
    """`data` is base64 where the transcript holds the bytes, else empty and `url` says where it was."""

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
    """What the provider's counts say that it costs, where they do."""

    @property
    def text(self) -> str:
        """What people can read of it: of a compaction that the provider made inside a call its summary."""
        if self.kind != "compaction" or not isinstance(self.value, Mapping):
            return ""
        content = self.value.get("content")
        return content if isinstance(content, str) else ""


Part: TypeAlias = Text | Thinking | ToolCall | ToolResult | Image | Opaque


def part_text(part: Part) -> str:
    """The text of a part as far as people read it: a call as its name and arguments; images have none."""
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
    """One message. `id` is stable: an edit makes a new message with the same id, a diff is a merge by id."""

    id: str
    role: Role
    parts: tuple[Part, ...]
    together: str = ""
    summary: bool = False
    mark: Mark = ""
    line: int = 0
    """1-based line in the transcript, 0 where there is none."""
    time: str = ""
    """ISO 8601 as recorded, or empty."""
    counts: dict[str, int] = field(
        default_factory=dict, init=False, compare=False, repr=False, hash=False
    )
    """Cache: weight by estimator name. Filled by `tokens.estimators`, never read by anyone else."""

    @property
    def text(self) -> str:
        """The text parts, joined by a newline. Tool results and thinking are not text parts; a readable summary is."""
        texts = (
            part
            for part in self.parts
            if isinstance(part, Text) or (isinstance(part, Opaque) and part.text)
        )
        return "\n".join(part.text for part in texts)

    @property
    def from_user(self) -> bool:
        """The user wrote it: it is no summary, and the client did not put it in."""
        return self.role == "user" and not self.mark and not self.summary

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of this message, in order."""
        if ToolCall not in map(
            type, self.parts
        ):  # most have none, and policies ask all of them again and again
            return ()
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def result(self) -> ToolResult | None:
        """The tool result, for a message of role `tool`."""
        for part in self.parts:
            if isinstance(part, ToolResult):
                return part
        return None
