"""The estimators by name, and the weight of messages and buffers, cached."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from types import MappingProxyType

from inspector.core.buffer import NOT_IN_FILE, Prompt, View
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.message import Message
from inspector.core.tokens.counted import Tiktoken, TokenizerRefused
from inspector.core.tokens.estimator import Estimator
from inspector.core.tokens.harnesses import Chars4, LearnClaudeCode, Pi, Roku, utf8_length
from inspector.core.tokens.weigher import Weigher

__all__ = [
    "DEFAULT_ESTIMATOR",
    "ESTIMATORS",
    "ESTIMATOR_TITLES",
    "Estimator",
    "UnknownEstimator",
    "buffer_tokens",
    "count",
    "estimator",
    "refusals",
    "weigh_all",
    "weigh_newest",
    "weight",
]

ESTIMATORS: Mapping[str, Callable[[], Estimator]] = MappingProxyType(
    {
        "roku": Roku,
        "chars4": Chars4,
        "pi": Pi,
        "learn-claude-code": LearnClaudeCode,
        "tiktoken": Tiktoken,
        "tiktoken-cl100k": partial(Tiktoken, "cl100k_base"),
    }
)
ESTIMATOR_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "roku": "Roku",
        "chars4": "characters / 4",
        "pi": "Pi",
        "learn-claude-code": "learn-claude-code",
        "tiktoken": "tiktoken o200k",
        "tiktoken-cl100k": "tiktoken cl100k",
    }
)
"""How each is called on the screen."""
DEFAULT_ESTIMATOR = "roku"
"""The estimator that is shown as *estimated* until another is picked. Sizes, predictions and findings are weighed by
the exact weigher, whichever that is."""


class UnknownEstimator(InspectorError):
    """No estimator of that name. The sentence names those that are known."""


def estimator(name: str, encoding: str | None = None) -> Estimator:
    """The estimator of that name; `encoding` (o200k_base, cl100k_base) is for tiktoken. Raises UnknownEstimator."""
    if name == "tiktoken" and encoding is not None:
        return Tiktoken(encoding)
    if name not in ESTIMATORS:
        raise UnknownEstimator(f"There is no estimator {name!r}. Known: {', '.join(ESTIMATORS)}.")
    return ESTIMATORS[name]()


def weight(estimator: Estimator, message: Message) -> int:
    """Weight of a message, cached on it. A message that the tokenizer refused weighs 0 (see `refusals`)."""
    cached = message.counts.get(estimator.name)
    if cached is not None:
        return cached
    try:
        found = estimator.weigh(message)
    except TokenizerRefused:
        message.counts[_refused(estimator)] = 1
        found = 0
    message.counts[estimator.name] = found
    return found


def weigh_all(estimator: Estimator, messages: Iterable[Message]) -> None:
    """Cache the weights of messages. Quicker than one by one where a tokenizer takes many texts at once."""
    if isinstance(estimator, Weigher):
        estimator.weigh_all(messages)
        return
    name = estimator.name
    for message in messages:
        if name not in message.counts:
            weight(estimator, message)


def weigh_newest(estimator: Estimator, messages: Sequence[Message]) -> None:
    """Cache the weights of the messages at the end that have none yet, as when a thread has grown. O(those)."""
    name = estimator.name
    new = list(takewhile(lambda message: name not in message.counts, reversed(messages)))
    weigh_all(estimator, new)


def count(estimator: Estimator, message: Message) -> int:
    """Tokens of one message in a buffer, framing included."""
    return estimator.tokens(weight(estimator, message))


def messages_weight(estimator: Estimator, messages: View | Iterable[Message]) -> int:
    """Summed weight of messages. O(new messages) for a view, O(messages) else."""
    weigh = partial(weight, estimator)
    if isinstance(messages, View):
        return messages.weight(estimator.name, weigh)
    if not isinstance(messages, tuple):
        return sum(map(weigh, messages))
    name = estimator.name  # a buffer is weighed again and again: what is new is weighed, then all is added up quickly
    weigh_all(estimator, [message for message in messages if name not in message.counts])
    return sum([message.counts[name] for message in messages])


def buffer_tokens(estimator: Estimator, messages: View | Iterable[Message], prompt: Prompt = NOT_IN_FILE) -> int:
    """Tokens of a whole buffer: messages and what the estimator counts of the prompt."""
    return estimator.tokens(messages_weight(estimator, messages) + estimator.weigh_prompt(prompt))


_PROMPTS: OrderedDict[tuple[str, int], tuple[Prompt, tuple[int, int]]] = OrderedDict()
_PROMPTS_KEPT = 32
_PROSE = 4
"""Bytes of tool schemas to a token, where the estimator has no rule for them. Measured: 4.2 to 4.8."""


def prompt_tokens(estimator: Estimator, prompt: Prompt) -> tuple[int, int]:
    """(system prompt, tool schemas) in tokens, as far as the transcript holds them, whether or not the estimator's own
    rule counts them: the model reads both. The last few prompts are remembered."""
    key = estimator.name, id(prompt)
    known = _PROMPTS.get(key)
    if known is None or known[0] is not prompt:
        known = prompt, _prompt_tokens(estimator, prompt)
        _PROMPTS[key] = known
        while len(_PROMPTS) > _PROMPTS_KEPT:
            _PROMPTS.popitem(last=False)
    return known[1]


def _prompt_tokens(estimator: Estimator, prompt: Prompt) -> tuple[int, int]:
    found = [
        estimator.tokens(estimator.weigh_prompt(one)) for one in (Prompt(prompt.system), Prompt(None, prompt.tools))
    ]
    if prompt.system and not found[0]:
        found[0] = estimator.text(prompt.system)
    if prompt.tools and not found[1]:  # mostly prose: a rule for dense JSON would count them twice
        found[1] = -(-utf8_length(dumps([tool.definition for tool in prompt.tools])) // _PROSE)
    return found[0], found[1]


def refusals(estimator: Estimator, messages: View | Iterable[Message]) -> int:
    """How many of the messages the tokenizer refused: their tokens are missing in the count."""
    key = _refused(estimator)
    if isinstance(messages, View):
        messages_weight(estimator, messages)
        return messages.weight(key, lambda message: message.counts.get(key, 0))
    listed = tuple(messages)
    messages_weight(estimator, listed)
    return sum(message.counts.get(key, 0) for message in listed)


def _refused(estimator: Estimator) -> str:
    return f"{estimator.name} refused"
