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
from inspector.core.rounding import divide_up
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
"""The names of the estimators on the screen."""
DEFAULT_ESTIMATOR = "roku"
"""The estimator that is shown as *estimated* until another is selected. Sizes, predictions and findings are weighed by
the exact weigher, whichever is selected."""


class UnknownEstimator(InspectorError):
    """There is no estimator of that name. The sentence lists the known names."""


def estimator(name: str, encoding: str | None = None) -> Estimator:
    """Return the estimator of a name; `encoding` (o200k_base, cl100k_base) is for tiktoken. Raises UnknownEstimator."""
    if name == "tiktoken" and encoding is not None:
        return Tiktoken(encoding)
    if name not in ESTIMATORS:
        raise UnknownEstimator(f"There is no estimator {name!r}. Known: {', '.join(ESTIMATORS)}.")
    return ESTIMATORS[name]()


def weight(estimator: Estimator, message: Message) -> int:
    """Return the weight of a message, cached on it. A message that the tokenizer refused weighs 0 (see `refusals`)."""
    cached = message.counts.get(estimator.name)
    if cached is not None:
        return cached
    try:
        message_weight = estimator.weigh(message)
    except TokenizerRefused:
        message.counts[_refused(estimator)] = 1
        message_weight = 0
    message.counts[estimator.name] = message_weight
    return message_weight


def weigh_all(estimator: Estimator, messages: Iterable[Message]) -> None:
    """Cache the weights of messages. Faster than separate calls if the tokenizer takes many texts at once."""
    if isinstance(estimator, Weigher):
        estimator.weigh_all(messages)
        return
    name = estimator.name
    for message in messages:
        if name not in message.counts:
            weight(estimator, message)


def weigh_newest(estimator: Estimator, messages: Sequence[Message]) -> None:
    """Cache the weights of the last messages that have none yet, as when a thread has grown. O(these messages)."""
    name = estimator.name
    new = list(takewhile(lambda message: name not in message.counts, reversed(messages)))
    weigh_all(estimator, new)


def count(estimator: Estimator, message: Message) -> int:
    """Return the tokens of one message in a buffer, framing included."""
    return estimator.tokens(weight(estimator, message))


def messages_weight(estimator: Estimator, messages: View | Iterable[Message]) -> int:
    """Return the summed weight of messages. O(new messages) for a view, else O(messages)."""
    weigh = partial(weight, estimator)
    if isinstance(messages, View):
        return messages.weight(estimator.name, weigh)
    if not isinstance(messages, tuple):
        return sum(map(weigh, messages))
    # Buffers are weighed often: weigh the new messages, then add up cached weights.
    name = estimator.name
    weigh_all(estimator, [message for message in messages if name not in message.counts])
    return sum([message.counts[name] for message in messages])


def buffer_tokens(
    estimator: Estimator, messages: View | Iterable[Message], prompt: Prompt = NOT_IN_FILE
) -> int:
    """Return the tokens of a whole buffer: messages, and the part of the prompt that the estimator counts."""
    return estimator.tokens(messages_weight(estimator, messages) + estimator.weigh_prompt(prompt))


_PROMPTS: OrderedDict[tuple[str, int], tuple[Prompt, tuple[int, int]]] = OrderedDict()
_PROMPTS_KEPT = 32
_PROSE = 4
"""Bytes of tool schemas per token, if the estimator has no rule for them. Measured: 4.2 to 4.8."""


def prompt_tokens(estimator: Estimator, prompt: Prompt) -> tuple[int, int]:
    """Return the tokens of (system prompt, tool schemas) that the transcript holds. The last few prompts are cached.

    Both count even if the estimator's own rule leaves them out, because the model reads both.
    """
    key = estimator.name, id(prompt)
    entry = _PROMPTS.get(key)
    if entry is not None:
        known_prompt, known_sizes = entry
        if known_prompt is prompt:  # not another one with the same id
            return known_sizes
    sizes = _prompt_tokens(estimator, prompt)
    _PROMPTS[key] = prompt, sizes
    while len(_PROMPTS) > _PROMPTS_KEPT:
        _PROMPTS.popitem(last=False)
    return sizes


def _prompt_tokens(estimator: Estimator, prompt: Prompt) -> tuple[int, int]:
    system_tokens = estimator.tokens(estimator.weigh_prompt(Prompt(prompt.system)))
    if prompt.system and not system_tokens:
        system_tokens = estimator.text(prompt.system)
    only_tools = Prompt(system=None, tools=prompt.tools)
    tool_tokens = estimator.tokens(estimator.weigh_prompt(only_tools))
    if prompt.tools and not tool_tokens:  # mostly prose: a rule for dense JSON would double them
        schemas = dumps([tool.definition for tool in prompt.tools])
        tool_tokens = divide_up(utf8_length(schemas), _PROSE)
    return system_tokens, tool_tokens


def refusals(estimator: Estimator, messages: View | Iterable[Message]) -> int:
    """Return how many of the messages the tokenizer refused. Their tokens are missing from the count."""
    key = _refused(estimator)
    if isinstance(messages, View):
        messages_weight(estimator, messages)
        return messages.weight(key, lambda message: message.counts.get(key, 0))
    listed = tuple(messages)
    messages_weight(estimator, listed)
    return sum(message.counts.get(key, 0) for message in listed)


def _refused(estimator: Estimator) -> str:
    return f"{estimator.name} refused"
