"""The world of a replay: nothing is written, and a file reads as the session last read it.

What is asked of a model goes on to the answerer.
"""

from collections.abc import Iterable

from inspector.core.answering import Answerer, rehearsed
from inspector.core.message import Message, ToolCall
from inspector.core.needs import Answer, Need, ProviderFailure, ReadFile
from inspector.core.reads import path_of

BY = "replay"


class World:
    """An answerer that has seen the messages so far."""

    def __init__(self, answer: Answerer) -> None:
        self._answer = rehearsed(answer)
        self._calls: dict[str, str] = {}
        """Path by id of a call that has not been answered yet."""
        self._files: dict[str, str] = {}

    def see(self, messages: Iterable[Message]) -> None:
        """What the tools printed is what the files hold."""
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolCall) and (path := path_of(part)):
                    self._calls[part.id] = path
            result = message.result
            if result is not None and (path := self._calls.pop(result.call_id, "")) and not result.is_error:
                self._files[path] = result.content

    def __call__(self, need: Need) -> Answer:
        match need:
            case ReadFile(path=path, max_chars=limit):
                if path not in self._files:
                    raise ProviderFailure("the session never read this file", kind="missing")
                return Answer(text=self._files[path][:limit], by=BY)
            case _:
                return self._answer(need)
