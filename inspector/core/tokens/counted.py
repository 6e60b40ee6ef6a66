"""Our own count: everything the model sees, by a tokenizer.

Where no tokenizer can look - images, hidden thinking, what only the provider can read - a size stands in. What a
provider writes around messages, calls and results is measured on recorded usage, over providers, not over files.
"""

from dataclasses import dataclass

from inspector.core.buffer import Prompt
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Json, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from inspector.core.tokens.estimator import Kind
from inspector.core.tokens.images import image_tokens
from inspector.core.tokens.tokenizer import count_tokens

MESSAGE_FRAMING = 4
"""Role and separators of a message."""
CALL_FRAMING = 32
RESULT_FRAMING = 16
"""What is written around a call and around its result. Together they cost some 30 tokens with GPT-5.5 and 60 to 90
with Claude 4 to 5, read off what calls add to the next prompt; this is the middle."""


def opaque_tokens(characters: int) -> int:
    """Tokens behind base64 that only the provider can read: 3/4 byte a character, 4 bytes a token."""
    return -(-characters * 3 // 16)


@dataclass(frozen=True, slots=True)
class Tiktoken:
    """Counts text exactly as OpenAI's models of that encoding do; for other models it is a close relative."""

    encoding: str = "o200k_base"
    kind: Kind = "counted"

    @property
    def name(self) -> str:
        return "tiktoken" if self.encoding == "o200k_base" else f"tiktoken-{self.encoding.removesuffix('_base')}"

    def text(self, text: str) -> int:
        return count_tokens(text, self.encoding)

    def weigh(self, message: Message) -> int:
        return MESSAGE_FRAMING + sum(map(self._part, message.parts))

    def _part(self, part: Part) -> int:
        match part:
            case Text():
                return self.text(part.text)
            case Thinking(text, signature, tokens):
                if tokens is not None:
                    return tokens
                # signed text is a digest of what was thought, the signature holds all of it
                return opaque_tokens(len(signature)) if signature else self.text(text)
            case ToolCall():
                return CALL_FRAMING + self.text(part.name) + self._json(part.arguments)
            case ToolResult():
                return RESULT_FRAMING + self.text(part.content)
            case Image():
                return image_tokens(part)
            case Opaque():
                return -(-part.size // 4) if part.tokens is None else part.tokens

    def _json(self, value: Json) -> int:
        return self.text(value if isinstance(value, str) else dumps(value))

    def weigh_prompt(self, prompt: Prompt) -> int:
        system = self.text(prompt.system) + MESSAGE_FRAMING if prompt.system else 0
        return system + sum(self._json(tool.definition) for tool in prompt.tools or ())

    def tokens(self, weight: int) -> int:
        return weight
