"""The current buffer, the reasoning in it, and the results of the provider's own tools.

Reasoning is sent to the model again until the user's next message; then the provider removes it. The file does not
record when: usually at once, later if the message was typed into a running turn over an open connection. The reported
usage shows the time. If a prompt is smaller than the previous prompt plus everything new, the reasoning was removed. If
more tokens were read from the cache than precede the first reasoning, it was not. Search results are treated alike:
they were removed if fewer tokens are read from the cache than precede them and the prompt is smaller by about their
size.

If the provider itself runs tools inside a call, such as a web search, the model works in several steps, and the
reported prompt is that of the last step. That prompt holds everything up to the last such tool, and the tools' results.
The file does not hold these results, but the usage shows their size. The provider keeps them while each call continues
the previous call, and drops them when the client sends its whole conversation again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

from inspector.core.buffer import Stretch, View
from inspector.core.message import Message, Opaque, Part, Text, Thinking, ToolResult
from inspector.core.usage import Usage


class CodexHistory:
    """Builds the buffer from messages in order. Earlier views never change. Each message is copied at most twice."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._settled = Stretch(own=messages)
        """Messages whose reasoning was removed, or that never had any."""
        self._stretch = Stretch(self._settled.view())
        self._old = 0
        """Number of own messages of the stretch before the user's last message."""
        self._since = 0
        """Number of own messages of the stretch up to the end of the last response."""
        self._thought = self._thought_old = self._thought_before = 0
        """Reasoning tokens in the stretch; in its first `_old` messages; before the last response."""
        self._found = self._found_behind = 0
        """Tokens of the search results that the provider keeps; tokens of the prompt before the first of them."""
        self._reported: Usage | None = None

    def view(self, more: Sequence[Message] = ()) -> View:
        """Return the current buffer, followed by `more`. O(more)."""
        return Stretch(self._stretch.view(), more).view() if more else self._stretch.view()

    def put(self, message: Message) -> None:
        """Append a message of the user, the client or a tool."""
        if message.role == "user":
            self._old, self._thought_old = len(self._stretch.own), self._thought
        self._stretch.append(message)

    def respond(self, message: Message) -> None:
        """Append a complete response."""
        self._stretch.append(message)
        self._since, self._thought_before = len(self._stretch.own), self._thought
        if tokens := search_tokens(message):
            if not self._found and self._reported is not None:
                self._found_behind = self._reported.prompt - tokens
            self._found += tokens
        for part in message.parts:
            if type(part) is Thinking:
                self._thought += 1 if part.tokens is None else part.tokens

    def report(self, usage: Usage, explain: bool) -> int | None:
        """Take the usage of a call with this buffer, and remove earlier reasoning and search results accordingly.

        Returns:
            With `explain`, about how many tokens of the prompt the previous usage and the messages since do not
            account for; None without a previous usage.
        """
        before, self._reported = self._reported, usage
        if before is None:
            if self._thought_old:
                self._leave_out()
            return None
        if not explain and not self._thought_old and not self._found:
            return None
        expected = (
            before.prompt + before.output + sum(map(_size, self._stretch.own[self._since :])) // 4
        )
        thought, searched = self._gone(usage, before, expected)
        if searched:
            self._forget_found()
        if thought:
            self._leave_out()
        return usage.prompt - expected + thought + searched

    def _gone(self, usage: Usage, before: Usage, expected: int) -> tuple[int, int]:
        """Return the removed tokens of earlier reasoning and of search results: the pair that best fits the prompt."""
        thoughts = [0, self._thought_old]
        if usage.cache_read > before.prompt - self._thought_before:
            # So much of the earlier prompt came from the cache that it must include the reasoning.
            thoughts = [0]
        searched = [0, self._found] if usage.cache_read <= self._found_behind else [0]
        return min(
            product(thoughts, searched), key=lambda gone: abs(expected - sum(gone) - usage.prompt)
        )

    def _forget_found(self) -> None:
        own, settled = self._stretch.own, self._settled.view()
        again = {
            n: (message, without_search_tokens(message))
            for n, message in enumerate(settled)
            if search_tokens(message)
        }
        if again:
            self._settled = Stretch(settled, rewritten=again)
        self._stretch = Stretch(self._settled.view(), list(map(without_search_tokens, own)))
        self._found = 0

    def _leave_out(self) -> None:
        own, old = self._stretch.own, self._old
        for message in filter(None, map(without_reasoning, own[:old])):
            self._settled.append(message)
        self._stretch = Stretch(self._settled.view(), own[old:])
        self._since, self._old = max(0, self._since - old), 0
        self._thought -= self._thought_old
        self._thought_before = max(0, self._thought_before - self._thought_old)
        self._thought_old = 0


def without_reasoning(message: Message) -> Message | None:
    """Return the message without its reasoning; None if the message holds nothing else."""
    parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
    if len(parts) == len(message.parts):
        return message
    return replace(message, parts=parts) if parts else None


def _size(message: Message) -> int:
    """Return the bytes of the texts and tool results of a message, for a rough token estimate."""
    return sum(map(_bytes, _texts(message)))


def _texts(message: Message) -> Iterable[str]:
    for part in message.parts:
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, ToolResult):
            yield part.content


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", errors="replace"))


def split_at_search(parts: Sequence[Part]) -> tuple[Sequence[Part], Sequence[Part]]:
    """Split a response after its last provider-run tool: what the last step's prompt held, and what it answered."""
    after = next((n for n in range(len(parts), 0, -1) if by_provider(parts[n - 1])), 0)
    return parts[:after], parts[after:]


def with_search_tokens(parts: Sequence[Part], tokens: int) -> tuple[Part, ...]:
    """Distribute unexplained prompt tokens evenly over the tools that the provider ran."""
    tokens -= sum(part.tokens or 0 for part in parts if isinstance(part, Thinking))
    count = sum(map(by_provider, parts))
    each = max(0, tokens) // count if count else 0
    return tuple(
        replace(part, tokens=each) if isinstance(part, Opaque) and by_provider(part) else part
        for part in parts
    )


def search_tokens(message: Message) -> int:
    """Return the tokens of the results of tools that the provider ran."""
    return sum(
        part.tokens or 0 for part in message.parts if isinstance(part, Opaque) and by_provider(part)
    )


def without_search_tokens(message: Message) -> Message:
    """Return a message as the client sends it again: with the provider-run tools, without their results."""
    parts = (
        replace(part, tokens=None) if isinstance(part, Opaque) and by_provider(part) else part
        for part in message.parts
    )
    return replace(message, parts=tuple(parts)) if search_tokens(message) else message


def by_provider(part: Part) -> bool:
    """Is the part a tool that the provider ran, such as a web search, a file search or an interpreter?"""
    return type(part) is Opaque and part.kind.endswith("_call")
