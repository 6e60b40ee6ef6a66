"""Files as a recording holds them: what a policy re-attaches in a step, a preview or a replay.

No file of this machine is read. A file is what the buffer still holds of it, else what a reading call printed last.
"""

from collections.abc import Iterable

from inspector.core.answering import RECORDING, Answerer, missing_file
from inspector.core.calls import path_of, writes
from inspector.core.message import Message
from inspector.core.needs import Answer, Need, ReadFile
from inspector.core.session import Thread


class RecordedFiles:
    """An answerer that reads files from the messages so far. Everything else goes to the answerer within."""

    def __init__(self, answer: Answerer) -> None:
        self._answer = answer
        self._calls: dict[str, str] = {}
        """Path by id of a call that has not been answered yet."""
        self._files: dict[str, str] = {}

    def see(self, messages: Iterable[Message]) -> None:
        """Take in what the tools printed: that is what the files hold."""
        for message in messages:
            for call in message.calls:
                if not writes(call) and (path := path_of(call)):
                    self._calls[call.id] = path
            result = message.result
            if (
                result is not None
                and (path := self._calls.pop(result.call_id, ""))
                and not result.is_error
            ):
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
    """Return an answerer that reads files from what `thread` recorded before request `at`.

    The messages are gone through when the first file is asked for: O(messages).
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
    """Every message of the thread, in file order, up to the last one of the buffer of request `at`."""
    view = thread.place(at).view
    last = next(view.backwards(), None)
    for message in thread.messages:
        yield message
        if last is not None and message.id == last.id:
            return
