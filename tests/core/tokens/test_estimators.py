"""What holds for every estimator: weights add up, never fall when something is added, and are cached."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.core.buffer import NOT_IN_FILE, Prompt, Stretch
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.core.tokens.counted import TokenizerRefused
from inspector.core.tokens.estimator import Kind
from inspector.core.tokens.estimators import (
    ESTIMATOR_TITLES,
    ESTIMATORS,
    Estimator,
    UnknownEstimator,
    buffer_tokens,
    count,
    estimator,
    messages_weight,
    refusals,
)

TEXTS = st.text(alphabet=st.characters(codec="utf-8"), max_size=40)
JSON = st.recursive(
    TEXTS | st.integers(-9, 9) | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=5,
)
PARTS = (
    st.builds(Text, TEXTS)
    | st.builds(Thinking, TEXTS, TEXTS)
    | st.builds(ToolCall, TEXTS, TEXTS, JSON)
    | st.builds(ToolResult, TEXTS, TEXTS)
    | st.builds(Image, st.just("image/png"), st.sampled_from(["", "AAAA", "not base64!"]))
    | st.builds(Opaque, TEXTS, JSON, st.integers(0, 10**6))
)
ROLES: list[Role] = ["system", "user", "assistant", "tool"]


@st.composite
def messages(draw: st.DrawFn) -> Message:
    parts: list[Part] = draw(st.lists(PARTS, max_size=3))
    return Message("m", draw(st.sampled_from(ROLES)), tuple(parts))


each = pytest.mark.parametrize(
    "by", [make() for make in ESTIMATORS.values()], ids=ESTIMATORS.keys()
)


def test_every_estimator_has_a_title_of_its_own() -> None:
    assert set(ESTIMATOR_TITLES) == set(ESTIMATORS)
    assert len(set(ESTIMATOR_TITLES.values())) == len(ESTIMATORS)


@each
@settings(deadline=None, max_examples=30)
@given(st.lists(messages(), max_size=6))
def test_running_sums_are_sums(by: Estimator, listed: list[Message]) -> None:
    stretch = Stretch(own=listed)
    for length in range(len(listed) + 1):
        total = messages_weight(by, listed[:length])
        assert messages_weight(by, stretch.view(length)) == total
        assert buffer_tokens(by, stretch.view(length)) == by.tokens(total)


@each
@settings(deadline=None, max_examples=30)
@given(st.lists(messages(), max_size=4), messages())
def test_never_falls_when_a_message_is_added(
    by: Estimator, listed: list[Message], more: Message
) -> None:
    assert 0 <= buffer_tokens(by, listed) <= buffer_tokens(by, [*listed, more])


@each
def test_names_kinds_and_the_empty_buffer(by: Estimator) -> None:
    assert estimator(by.name).name == by.name
    assert by.kind == ("counted" if by.name.startswith("tiktoken") else "estimated")
    assert buffer_tokens(by, (), NOT_IN_FILE) == by.text("") == 0
    assert by.weigh_prompt(Prompt("system", ())) >= 0


def test_encoding_chooses_the_vocabulary() -> None:
    assert estimator("tiktoken", "cl100k_base").name == "tiktoken-cl100k"
    assert estimator("tiktoken", "o200k_base").name == "tiktoken"


def test_unknown_names_are_told() -> None:
    with pytest.raises(UnknownEstimator, match="roku"):
        estimator("nope")


class Refusing:
    """Gives up on one message; counts how often it was asked."""

    name = "refusing"
    kind: Kind = "counted"

    def __init__(self) -> None:
        self.asked = 0

    def text(self, text: str) -> int:
        return len(text)

    def weigh(self, message: Message) -> int:
        self.asked += 1
        if "!" in message.text:
            raise TokenizerRefused("no")
        return len(message.text)

    def weigh_prompt(self, prompt: Prompt) -> int:
        return 0

    def tokens(self, weight: int) -> int:
        return weight


def test_a_refused_message_is_counted_as_refused_and_asked_once() -> None:
    by = Refusing()
    listed = [
        Message("a", "user", (Text("ab"),)),
        Message("b", "user", (Text("!"),)),
        Message("c", "user", (Text("c"),)),
    ]
    view = Stretch(own=listed).view()
    assert [refusals(by, view.stretch.view(n)) for n in range(4)] == [0, 0, 1, 1]
    assert refusals(by, listed) == 1
    assert messages_weight(by, view) == 3
    assert [count(by, message) for message in listed] == [2, 0, 1]
    assert by.asked == 3
