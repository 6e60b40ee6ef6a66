"""Files of steps: save them, replay them, export them as a test, and export their buffer as payload or transcript.

The work is done in jobs. An expected failure is shown as one sentence.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

from inspector.core.errors import InspectorError
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.core.session import Session
from inspector.core.words import plural
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.dialogs import ask
from inspector.gui.navigation import go_to
from inspector.transcripts.database import split_session_path
from inspector.transcripts.saving import NATIVE, buffer_text, save_text
from inspector.workbench.regression import pytest_text
from inspector.workbench.sharing.shared_steps import find_origin
from inspector.workbench.state import State
from inspector.workbench.steps_file import (
    StepsReplay,
    StepsSource,
    replay_steps,
    source_of,
    write_steps,
)

T = TypeVar("T")
_KINDS = {
    "steps": "Steps (*.json)",
    "pytest": "Tests (*.py)",
    NATIVE: "Transcripts (*.jsonl)",
    "payload": "Request bodies (*.json)",
}


class StepsFiles:
    """The actions that write and read files of steps. `report` is called with one sentence about what was done."""

    def __init__(self, desk: Desk, parent: QWidget, report: Callable[[str], None]) -> None:
        self._desk = desk
        self._parent = parent
        self._report = report

    # -- out ---------------------------------------------------------------------------------------------------------

    def save_steps(self) -> None:
        """Save all steps of the tree as JSON."""
        state = self._desk.workbench.state
        steps = self._desk.workbench.state.steps
        if steps is None:
            return
        source = _source(state)
        self._save(
            "Save steps",
            name=f"{_stem(state)}.steps.json",
            kind="steps",
            text=lambda: dumps(write_steps(steps, source)) + "\n",
        )

    def export_pytest(self) -> None:
        """Save the steps up to the current one as a test."""
        state = self._desk.workbench.state
        steps = self._desk.workbench.state.steps
        if steps is None:
            return
        source = _source(state)
        name = "".join(char if char.isalnum() else "_" for char in _stem(state))
        self._save(
            "Export as pytest",
            name=f"test_{name}.py",
            kind="pytest",
            text=lambda: pytest_text(steps, source),
        )

    def export_buffer(self, shape: str) -> None:
        """Save the current buffer as a payload, or as a transcript in the session's own format."""
        state = self._desk.workbench.state
        session = self._desk.workbench.state.session
        if session is None:
            return
        buffer = state.buffer()
        native = shape == NATIVE
        model = _model(state)
        name = f"{_stem(state)}-compacted.{'jsonl' if native else f'{shape}.json'}"
        kind = NATIVE if native else "payload"
        self._save(
            "Export the buffer",
            name,
            kind,
            text=lambda: buffer_text(buffer, shape, session.format, model),
        )

    def _save(self, title: str, name: str, kind: str, text: Callable[[], str]) -> None:
        path = ask.ask_new_file(self._parent, self._desk.settings, title, name, _KINDS[kind])
        session = self._desk.workbench.state.session
        if not path or session is None:
            return

        def fell(failure: BaseException) -> None:
            kind = type(failure).__name__
            failure.add_note(
                f"Cannot write {Path(path).name}: something went wrong inside the program ({kind})."
            )
            self._desk.say(failure.__notes__[0])

        def write(task: Task) -> None:
            save_text(text(), path, force=True, source=session.path)

        def report(_: None) -> None:
            self._report(f"Written to {Path(path).name}.")

        self._desk.bridge.run(write, report, lambda error: self._desk.say(str(error)), fell=fell)

    # -- in ----------------------------------------------------------------------------------------------------------

    def replay(self) -> None:
        """Replay saved steps with their recorded answers. Open their transcript first if necessary."""
        path = ask.ask_steps_file(self._parent, self._desk.settings)
        if path:
            self._run(lambda: _read(path), self._open_source)

    def _open_source(self, document: Any) -> None:
        source = source_of(document)
        session = self._desk.workbench.state.session
        if session is not None and _is_of(session, source):
            self._replay(document)
        elif source.path and split_session_path(Path(source.path))[0].is_file():
            self._desk.open_path(source.path)
            self._when_open(source.path, lambda: self._replay(document))
        elif session is not None:
            # Possibly a copy of the transcript: the replay compares its buffer first.
            self._replay(document)
        else:
            why = f"{source.path} does not exist" if source.path else "their file does not name it"
            self._desk.say(f"Open the transcript of these steps first: {why}.")

    def _when_open(self, path: str, then: Callable[[], None]) -> None:
        """Call `then` once the transcript is open; do not call it if the transcript cannot be opened."""
        stops: list[Callable[[], None]] = []

        def look(state: State) -> None:
            is_open = (
                state.session is not None and state.session.path == path and state.opening is None
            )
            if not stops or not (is_open or state.failure):
                return
            unsubscribe = stops.pop()
            unsubscribe()
            if is_open:
                # Later, because other subscribers have not received this state yet.
                QTimer.singleShot(0, then)

        stops.append(self._desk.workbench.subscribe(look))

    def _replay(self, document: Any) -> None:
        session = self._desk.workbench.state.session
        if session is not None:
            self._run(lambda: replay_steps(document, *find_origin(session, document)), self._show)

    def _show(self, replay: StepsReplay) -> None:
        workbench = self._desk.workbench
        steps = replay.steps
        workbench.stepping.put(steps)
        go_to(workbench, steps.thread_id, steps.request, "")
        text = f"{plural(steps.own, 'step')} replayed"
        if replay.elsewhere:
            self._desk.say(
                f"{text}; {', '.join(replay.elsewhere[:5])} ended with another buffer than when saved."
            )
        else:
            self._report(f"{text}; each ended with the same buffer as when saved.")

    def _run(self, job: Callable[[], T], done: Callable[[T], None]) -> None:
        self._desk.bridge.run(
            lambda task: _name_file_errors(job), done, lambda error: self._desk.say(str(error))
        )


def _name_file_errors(job: Callable[[], T]) -> T:
    try:
        return job()
    except OSError as failure:
        name = f"{failure.filename}: " if failure.filename else ""
        raise InspectorError(f"{name}{failure.strerror or failure}.") from None


def _read(path: str) -> Any:
    try:
        document = loads(Path(path).read_bytes())
    except NotJson as why:
        raise InspectorError(f"{Path(path).name} is not JSON: {why}.") from None
    source_of(document)
    return document


def _source(state: State) -> StepsSource:
    session = state.session
    assert session is not None
    return StepsSource(
        str(Path(session.path).absolute()) if session.path else "", session.id, session.format
    )


def _model(state: State) -> str:
    return (state.request.model if state.request else "") or (
        state.thread.model if state.thread else ""
    )


def _is_of(session: Session, source: StepsSource) -> bool:
    if source.session and session.id:
        return source.session == session.id
    return bool(source.path) and str(Path(session.path).absolute()) == source.path


def _stem(state: State) -> str:
    """Return a file name for what is saved, such as `0cf3db51-request-94`."""
    session = state.session
    stem = Path(session.path).name.split(".")[0][:40] if session else ""
    place = "end" if state.at is None else f"request-{state.at}"
    return f"{stem or 'session'}-{place}"
