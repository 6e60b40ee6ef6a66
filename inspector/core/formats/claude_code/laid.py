"""The messages that the next call is sent, as far as they are complete: stretches, each going on from the one before.

Some read otherwise from a place on: results that were cleared or too large to be sent, thinking of earlier turns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from inspector.core.buffer import Stretch, View
from inspector.core.formats.claude_code.thinking import without_thinking
from inspector.core.message import Message, Text, ToolResult


class Laid:
    """The stretch that is being laid, and what is known of its messages."""

    def __init__(self) -> None:
        self.stretch = Stretch()
        self.turn = 0
        """Where the turn begins before which thinking was taken out."""
        self._replaced: dict[str, str] = {}
        """New text of tool results, by call id, and of other messages, by id."""
        self._places: dict[str, tuple[int, Message]] | None = None
        """Where a result (by call id) or another message stands; kept from the first rewriting on."""

    def lay(self, messages: Iterable[Message]) -> None:
        """Put messages behind those that are there."""
        length, sent = len(self.stretch), [self.as_sent(message) for message in messages]
        self.stretch.append(*sent)
        if self._places is not None:
            self._places.update((_key(message), (at, message)) for at, message in enumerate(sent, length))

    def begin(self, stretch: Stretch, turn: int = 0) -> None:
        """Go on with another stretch."""
        self.stretch, self.turn, self._places = stretch, turn, None

    def go_back(self, view: View, turn: int) -> None:
        """Go on from an earlier buffer. What was cleared stays cleared."""
        if self._replaced and self.stretch.view().rewritten_since(view):
            view = View(self.stretch, view.length)
        self.begin(Stretch(view), turn)

    def begin_turn(self, turn: int) -> int:
        """Take out the thinking that stands before a place. Returns how many messages were nothing else."""
        whole = self.stretch
        self.stretch, gone = without_thinking(whole, self.turn, turn)
        self.turn = turn - gone
        if self.stretch is not whole and self._places is not None and self.stretch.base is not None:
            at = self.stretch.base.length
            for message in whole.view().tail(at):
                self._places.pop(_key(message), None)
            self._places.update((_key(message), (n, message)) for n, message in enumerate(self.stretch.own, at))
        return gone

    def rewrite(self, texts: Mapping[str, str]) -> list[Message]:
        """From now on these messages have another text. Returns those that stand here, in their order."""
        self._replaced.update(texts)
        if self._places is None:
            self._places = {_key(message): (at, message) for at, message in enumerate(self.stretch.view().messages())}
        rewritten: dict[int, tuple[Message, Message]] = {}
        for key in texts:
            at, message = self._places.get(key, (0, None))
            if message is not None and (sent := self.as_sent(message)) is not message:
                self._places[key], rewritten[at] = (at, sent), (message, sent)
        if rewritten:
            self.stretch = Stretch(self.stretch.view(), rewritten=rewritten)
        return [rewritten[at][1] for at in sorted(rewritten)]

    def as_sent(self, message: Message) -> Message:
        """The message, with the text that it has by now."""
        if not self._replaced:
            return message
        said, result = self._replaced.get(_key(message)), message.result
        if said is None or said in (message.text, result and result.content):
            return message
        part = Text(said) if result is None else ToolResult(result.call_id, said, result.is_error)
        return replace(message, parts=(part,), mark="placeholder")


def _key(message: Message) -> str:
    """What a rewriting names a message by: a result by its call."""
    result = message.result
    return message.id if result is None else result.call_id
