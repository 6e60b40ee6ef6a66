"""What an estimator is: a way to say how many tokens a text or a message costs.

Every estimator weighs message by message, so that a buffer's weight is a sum and the weights of thousands of buffers
are prefix sums. A weight is tokens for most; for those that round once for the whole buffer it is a finer unit, and
`tokens` turns the sum into tokens. What an estimator counts is its own matter: those of a harness count exactly what
that harness counts, our own count all that the model sees.
"""

from typing import Literal, Protocol, TypeAlias

from inspector.core.buffer import Prompt
from inspector.core.message import Message

Kind: TypeAlias = Literal["estimated", "counted"]


class Estimator(Protocol):
    """Text to tokens, to be derived from. Stateless: the same input gives the same number."""

    @property
    def name(self) -> str:
        """As on the command line; also the key under which weights are cached."""

    @property
    def kind(self) -> Kind:
        """counted: by a tokenizer; estimated: by a formula."""
        return "estimated"

    def text(self, text: str) -> int:
        """Tokens of a text on its own. Raises TokenizerRefused where a tokenizer gives up."""

    def weigh(self, message: Message) -> int:
        """Weight of a message in a buffer, framing included. Raises TokenizerRefused."""

    def weigh_prompt(self, prompt: Prompt) -> int:
        """Weight of what the estimator counts of the system prompt and tools; most count the messages alone."""
        return 0

    def tokens(self, weight: int) -> int:
        """Tokens of the summed weight of a buffer, or of one message."""
        return weight
