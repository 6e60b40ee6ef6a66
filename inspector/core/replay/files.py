"""Provide file contents from a recording, for policies that re-attach files in a step, a preview or a replay.

No file of this machine is read. The content of a file is the part that is still in the buffer, or else the last output
of a call that read the file.
"""

from collections.abc import Iterable

from inspector.core.answering import RECORDING, Answerer, missing_file
from inspector.core.calls import path_of, writes
from inspector.core.message import Message
from inspector.core.needs import Answer, Need, ReadFile
from inspector.core.session import Thread


class RecordedFiles:
    """An answerer that reads files from the messages so far. It passes all other needs to the wrapped answerer."""

    def __init__(self, answer: Answerer) -> None:
        self._answer = answer
        self._calls: dict[str, str] = {}
        """Path by call id, for calls without a result so far."""
        self._files: dict[str, str] = {}

    def see(self, messages: Iterable[Message]) -> None:
        """Remember the file contents that reading tools printed in these messages."""
        for message in messages:
            for call in message.calls:
                path = path_of(call)
                if path and not writes(call):
                    self._calls[call.id] = path
            result = message.result
            if result is None:
                continue
            path = self._calls.pop(result.call_id, "")
            if path and not result.is_error:
                self._files[path] = result.content

    def __call__(self, need: Need) -> Answer:
        match need:
            case ReadFile(path, limit, recorded):
                content = self._files.get(path) if recorded is None else recorded
                if content is None:
                    raise missing_file(path)
                return Answer(text=content[:limit], by=RECORDING)
            case _:
                return self._answer(need)


def with_recorded_files(answer: Answerer, thread: Thread, at: int) -> Answerer:
    """Return an answerer that reads files from the messages of `thread` before request `at`.

    The messages are read when the first file is needed: O(messages).
    """
    files: list[RecordedFiles] = []

    def answer_need(need: Need) -> Answer:
        if not isinstance(need, ReadFile):
            return answer(need)
        if not files:
            files.append(RecordedFiles(answer))
            files[0].see(_messages_before(thread, at))
        return files[0](need)

    return answer_need


def _messages_before(thread: Thread, at: int) -> Iterable[Message]:
    """Yield the messages of the thread, in file order, up to the last message in the buffer of request `at`."""
    view = thread.place(at).view
    last = next(view.backwards(), None)
    for message in thread.messages:
        yield message
        if last is not None and message.id == last.id:
            return
