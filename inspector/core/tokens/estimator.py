"""The protocol of estimators, which compute the tokens of texts and messages.

An estimator weighs each message separately, so that the weight of a buffer is a sum and the weights of thousands of
buffers are prefix sums. For most estimators a weight is in tokens. Estimators that round once for the whole buffer use
a finer unit, and `tokens` converts the sum to tokens. Each estimator decides what counts: the estimator of a harness
counts exactly what that harness counts, this program's own estimators count everything that the model sees.
"""

from typing import Literal, Protocol, TypeAlias

from inspector.core.buffer import Prompt
from inspector.core.message import Message

Kind: TypeAlias = Literal["estimated", "counted"]


class Estimator(Protocol):
    """Base class of estimators. Stateless: the same input gives the same number."""

    @property
    def name(self) -> str:
        """The estimator's name on the command line; also the key under which weights are cached."""

    @property
    def kind(self) -> Kind:
        """counted: by a tokenizer; estimated: by a formula."""
        return "estimated"

    def text(self, text: str) -> int:
        """Return the tokens of a text on its own. Raises TokenizerRefused if the tokenizer fails on it."""

    def weigh(self, message: Message) -> int:
        """Return the weight of a message in a buffer, framing included. Raises TokenizerRefused."""

    def weigh_prompt(self, prompt: Prompt) -> int:
        """Return the weight of the counted part of system prompt and tools: 0 for most, which count only messages."""
        return 0

    def tokens(self, weight: int) -> int:
        """Return the tokens of the summed weight of a buffer, or of the weight of one message."""
        return weight
