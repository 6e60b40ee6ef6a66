"""Messages of bare payloads, named by their content, so that many bodies share them.

The id of a message is a hash of what the model reads in it plus its number among equals in the buffer: the same
message has the same id in every body of a file, in every file. Equal messages are one object.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b

from inspector.core.buffer import Prompt
from inspector.core.formats.payload.dialect import Units
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult

SUMMARY_LEADS = (
    "This session is being continued from a previous conversation",
    "The conversation history before this point was compacted into the following summary",
    "Another language model started to solve this problem and produced a summary",
    "[COMPACTED_CONTEXT]",
    "[Conversation summary]\n",
    "[Mid-tier context collapse ",
    "[Session memory summary]\n",
)
"""How the summaries of known clients begin, once they stand in the buffer; the last three are Roku's."""


class Pool:
    """Every message and prompt of a file, each once."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, int], tuple[Message, ...]] = {}
        self._prompts: dict[str, Prompt] = {}
        self.summaries: list[str] = []
        """Beginnings of texts that are known to be summaries (a call for one was answered so), newest last."""

    def messages(self, units: Units, seen: Counter[str]) -> list[Message]:
        """The messages of `units`, behind those counted in `seen` (which is brought up to date)."""
        return [message for unit in units for message in self._unit(unit, seen)]

    def _unit(self, unit: Sequence[Message], seen: Counter[str]) -> tuple[Message, ...]:
        name, exact = _hashes(unit)
        seen[name] += 1
        key = (exact, seen[name])
        if key not in self._messages:
            named = _named(unit, name + (f".{seen[name]}" if seen[name] > 1 else ""))
            self._messages[key] = tuple(map(self._marked, named)) if self.summaries else named
        return self._messages[key]

    def _marked(self, message: Message) -> Message:
        if message.summary or message.role == "tool" or not any(known in message.text for known in self.summaries):
            return message
        return replace(message, summary=True)

    def prompt(self, prompt: Prompt) -> Prompt:
        """The same prompt as one object."""
        key = _hash((prompt.system, [tool.definition for tool in prompt.tools or ()], prompt.tools is None))
        return self._prompts.setdefault(key, prompt)


def counted(messages: Iterable[Message]) -> Counter[str]:
    """How often each content stands in a buffer, as `Pool.messages` counts it."""
    return Counter(message.id.partition(".")[0] for message in messages if "-" not in message.id)


def _named(unit: Sequence[Message], name: str) -> tuple[Message, ...]:
    together = name if len(unit) > 1 else ""
    return tuple(
        replace(message, id=f"{name}-{n}" if n else name, together=together, summary=message.summary or _leads(message))
        for n, message in enumerate(unit)
    )


def _leads(message: Message) -> bool:
    texts = (part.text for part in message.parts if isinstance(part, Text))
    return any(text.lstrip().startswith(SUMMARY_LEADS) for text in texts)


def _hashes(unit: Iterable[Message]) -> tuple[str, str]:
    """By what can be read (the id: a signature may come later), and by everything (the object)."""
    readable: list[object] = []
    sealed: list[str] = []
    for message in unit:
        readable.append(message.role)
        for part in message.parts:
            match part:
                case Text(text):
                    readable.append(["text", text])
                case Thinking(text, signature):
                    readable += [["thinking", text]] if text else []  # a bare signature comes and goes
                    sealed.append(signature if text else signature or "thinking")
                case ToolCall(id_, name, arguments):
                    readable.append(["call", id_, name, arguments])
                case ToolResult(call_id, content, is_error):
                    readable.append(["result", call_id, content, is_error])
                case Image(media_type, data, url):
                    readable.append(["image", media_type, data, url])
                case Opaque(kind, value):
                    readable.append(["opaque", kind, value])
    name = _hash(readable)
    return name, name + _hash(sealed) if any(sealed) else name


def _hash(value: object) -> str:
    return blake2b(dumps(value).encode("utf-8", errors="replace"), digest_size=8).hexdigest()
