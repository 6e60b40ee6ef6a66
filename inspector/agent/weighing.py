"""What the buffer of a running thread weighs: by the one measure of every number that is shown, fed call by call."""

from dataclasses import replace

from inspector.core.buffer import Buffer, Stretch, View
from inspector.core.message import Message
from inspector.core.session import Request, Thread
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.pressure import Pressure, Pressures, thread_pressures
from inspector.core.usage import Usage


class Weighing:
    """Of one thread, from its beginning or (`recorded`) from where its journal ended."""

    def __init__(self, recorded: Thread | None = None) -> None:
        self._thread = recorded or Thread("")
        self._requests = list(self._thread.requests)
        self._view = Stretch(base=self._thread.end).view()
        self._pressures: Pressures | None = None

    def __call__(self, buffer: Buffer) -> Pressure:
        """Of the next call, if that buffer were sent: predicted from what was reported, estimated as long as nothing
        was. O(messages)."""
        self._view = _on(self._view, buffer.messages)
        thread = replace(self._thread, requests=tuple(self._requests), end=self._view, prompt=buffer.prompt)
        self._pressures = thread_pressures(thread, estimator("roku"), self._pressures)
        return self._pressures.end

    def answered(self, buffer: Buffer, usage: Usage | None, model: str) -> None:
        """That buffer was sent, and this was reported."""
        self._view = _on(self._view, buffer.messages)
        self._requests.append(Request(len(self._requests), self._view, buffer.prompt, usage, model))


def _on(view: View, messages: tuple[Message, ...]) -> View:
    """The messages as a view that shares its beginning with the one before."""
    former = view.messages()
    same = 0
    for one, other in zip(former, messages, strict=False):
        if one is not other and one != other:
            break
        same += 1
    if same == len(former) == len(view.stretch):
        view.stretch.append(*messages[same:])
        return view.stretch.view()
    return Stretch(base=View(view.stretch, same), own=messages[same:]).view()
