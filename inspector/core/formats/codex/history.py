"""The current buffer, the reasoning in it, and the results of the provider's own tools.

Reasoning is sent to the model again until the user writes; then the provider leaves it out. The file does not say when
exactly: usually at once, later if a message was typed into a running turn over an open connection. The reported counts
show it: a prompt smaller than the previous one plus everything new has lost the reasoning; one that was read from the
cache beyond the first reasoning has not. The same holds for the results of a search: they are gone if less is read from
the cache than what precedes them, and the prompt is smaller by about their size.

If the provider itself runs tools inside a call, such as a web search, the model works in several steps, and the
reported prompt is that of the last step. It holds everything up to the last such tool, and the results of the tools,
which are not in the file; the counts show their size. The provider keeps them while each call continues the previous
one. They are gone when that chain breaks and the client sends its whole conversation again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

from inspector.core.buffer import Stretch, View
from inspector.core.message import Message, Opaque, Part, Text, Thinking, ToolResult
from inspector.core.usage import Usage


class CodexHistory:
    """Takes messages in order. Views taken before stay as they are. Every message is copied twice at most."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._settled = Stretch(own=messages)
        """What has lost its reasoning for good, or never had any."""
        self._stretch = Stretch(self._settled.view())
        self._old = 0
        """How many messages of the stretch come before the user's last one."""
        self._since = 0
        """How many there were when the last response was complete."""
        self._thought = self._thought_old = self._thought_before = 0
        """Reasoning tokens in the stretch; in its first `_old` messages; before the last response."""
        self._found = self._found_behind = 0
        """Tokens of search results while the provider keeps them; tokens of the prompt before the first of them."""
        self._reported: Usage | None = None

    def view(self, more: Sequence[Message] = ()) -> View:
        """What stands now, with `more` after it. O(more)."""
        return Stretch(self._stretch.view(), more).view() if more else self._stretch.view()

    def put(self, message: Message) -> None:
        """A message of the user, the client or a tool."""
        if message.role == "user":
            self._old, self._thought_old = len(self._stretch.own), self._thought
        self._stretch.append(message)

    def respond(self, message: Message) -> None:
        """Take a complete response."""
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
        """What was reported for a call with this buffer: tells whether reasoning of earlier turns was still in it.

        Returns, where asked to `explain`, the tokens of the prompt that the count before and the messages since do not
        account for (roughly); None without a count before.
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
        """Reasoning of earlier turns and what searches found, as far as the prompt is nearer to one without them."""
        thoughts = [0, self._thought_old]
        if usage.cache_read > before.prompt - self._thought_before:
            thoughts = [
                0
            ]  # so much of the earlier prompt came from the cache that reasoning must be in it
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
    """The same message as the provider shows it to the model in a later turn; None where nothing is left of it."""
    parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
    if len(parts) == len(message.parts):
        return message
    return replace(message, parts=parts) if parts else None


def _size(message: Message) -> int:
    """Bytes of the text, as far as needed to tell a lost turn's reasoning from the noise."""
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
    """Return what was in the last step's prompt, and what the last step said."""
    after = next((n for n in range(len(parts), 0, -1) if by_provider(parts[n - 1])), 0)
    return parts[:after], parts[after:]


def with_search_tokens(parts: Sequence[Part], tokens: int) -> tuple[Part, ...]:
    """Put the tokens that nothing else in the prompt accounts for on the tools that the provider ran."""
    tokens -= sum(part.tokens or 0 for part in parts if isinstance(part, Thinking))
    count = sum(map(by_provider, parts))
    each = max(0, tokens) // count if count else 0
    return tuple(
        replace(part, tokens=each) if isinstance(part, Opaque) and by_provider(part) else part
        for part in parts
    )


def search_tokens(message: Message) -> int:
    """Return the tokens of what the provider's tools found."""
    return sum(
        part.tokens or 0 for part in message.parts if isinstance(part, Opaque) and by_provider(part)
    )


def without_search_tokens(message: Message) -> Message:
    """Return a message as the client sends it again: the search, without what it found."""
    parts = (
        replace(part, tokens=None) if isinstance(part, Opaque) and by_provider(part) else part
        for part in message.parts
    )
    return replace(message, parts=tuple(parts)) if search_tokens(message) else message


def by_provider(part: Part) -> bool:
    """Is it a tool that the provider ran: a search of the web or of files, an interpreter?"""
    return type(part) is Opaque and part.kind.endswith("_call")
