"""Write the journal of a run: each record is appended as soon as something has happened, and never changed.

Each record is one `write` of one line to a file that only its owner may read. However the program ends, at most the
last line is torn, and a resumed run starts a new line.
"""

import fcntl
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from operator import is_
from pathlib import Path
from typing import Any

from inspector.agent.plan import ResumePoint
from inspector.core.buffer import Buffer, Prompt
from inspector.core.dialects.neutral import write_buffer, write_message
from inspector.core.errors import InspectorError
from inspector.core.formats.journal.reader import write_shape
from inspector.core.jsontext import WRAPPED, dumps, loads
from inspector.core.message import Message
from inspector.core.needs import Answer, Failure
from inspector.core.outcome import Outcome
from inspector.core.recording import write_reply

VERSION = 1
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class JournalFailed(InspectorError):
    """The journal cannot be written, so the run must not continue."""


class Journal:
    """A journal file with one writer. Close it when done."""

    def __init__(self, path: Path, *, new: bool) -> None:
        """`new`: create the file. Raises JournalFailed, also if it exists already."""
        self.path = path
        self._held: dict[str, tuple[Message, ...]] = {}
        """The buffer of each thread as a reader of the journal would reconstruct it."""
        self._running: dict[str, dict[str, Any]] = {}
        self._prompt: Prompt | None = None
        """The prompt in the header; a thread with another prompt records its own."""
        try:
            self._file = os.open(path, _FLAGS | (os.O_CREAT | os.O_EXCL if new else 0), 0o600)
        except FileExistsError:
            raise JournalFailed(
                f"{path} exists; choose another name, or resume it (--resume)."
            ) from None
        except OSError as why:
            raise JournalFailed(f"{path} cannot be written: {why.strerror or why}.") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise JournalFailed(f"{path} is being written by a run that has not ended.") from None

    def begin(self, header: Mapping[str, Any], prompt: Prompt) -> None:
        self._prompt = prompt
        self.note("journal", version=VERSION, **header, prompt=_prompt(prompt))

    def resume(self, held: ResumePoint, plan: Mapping[str, Any]) -> None:
        """Continue a journal that was read. A torn last line stays in the file and is ended first.

        Raises JournalFailed if the journal has changed since it was read.
        """
        self._held = {name: buffer.messages for name, buffer in held.threads.items()}
        self._running = {name: dict(running) for name, running in held.running.items()}
        size = os.fstat(self._file).st_size
        if size != held.size:
            raise JournalFailed(f"{self.path} has changed since it was read; read it again.")
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            self._append(b"\n")
        self.note("resumed", plan=dict(plan))

    def thread(
        self, name: str, buffer: Buffer, *, title: str, parent: str, parent_call: str
    ) -> None:
        """Record that a thread begins with these messages."""
        more: dict[str, Any] = {"parent": parent, "parent_call": parent_call} if parent else {}
        if buffer.prompt != self._prompt:
            more["prompt"] = _prompt(buffer.prompt)
        self.note("thread", id=name, title=title, **more)
        self._held[name] = ()
        self.sync(name, buffer.messages)

    def has(self, thread: str) -> bool:
        return thread in self._held

    def sync(self, thread: str, messages: tuple[Message, ...]) -> None:
        """Record the thread's current messages: those that are new, or the difference if others were removed."""
        held = self._held[thread]
        if len(messages) >= len(held) and all(map(is_, held, messages)):
            for message in messages[len(held) :]:
                self.note("message", thread=thread, message=write_message(message))
        else:
            self.note("edit", thread=thread, by="turn", buffer=write_shape(held, messages))
        self._held[thread] = messages

    def request(self, thread: str, **about: Any) -> None:
        self.note("request", thread=thread, **about)

    def answer(self, thread: str, answer: Answer) -> None:
        self.note("answer", thread=thread, answer=write_reply(answer))
        self._held[thread] = (*self._held[thread], *answer.messages)

    def failed(self, thread: str, failure: Failure, again_s: float | None) -> None:
        """Record a failed call. `again_s`: seconds until the retry; None if there is none."""
        more = {"again_s": again_s} if again_s is not None else {}
        self.note("failed", thread=thread, failure=write_reply(failure), **more)

    def tier(self, thread: str, outcome: Outcome[Any], before: int, after: int) -> None:
        """Record what a tier did. The buffer before it must have been written.

        Args:
            thread: Name of the thread.
            outcome: The result of the tier.
            before: Tokens of the buffer before the tier.
            after: Tokens of the buffer after the tier.
        """
        shape = write_shape(self._held[thread], outcome.buffer.messages)
        kind = "tier" if outcome.buffer.messages != self._held[thread] else "tried"
        result: dict[str, Any] = {"tier": outcome.tier, "succeeded": outcome.succeeded}
        if outcome.error:
            result["error"] = outcome.error
        sizes = {"tokens_before": before, "tokens_after": after}
        events = [{"name": event.name, **event.fields} for event in outcome.events]
        self.note(
            kind,
            thread=thread,
            **result,
            **sizes,
            events=events,
            fates=dict(outcome.changed),
            buffer=shape,
        )
        self._held[thread] = outcome.buffer.messages

    def edit(
        self, thread: str, policy: str, messages: tuple[Message, ...], fates: Mapping[str, str]
    ) -> None:
        self.note(
            "edit",
            thread=thread,
            by=policy,
            fates=dict(fates),
            buffer=write_shape(self._held[thread], messages),
        )
        self._held[thread] = messages

    def running(self, thread: str, turn: int, data: Mapping[str, Any]) -> None:
        """Record the changes of the policy's running state since it was last written, after `turn` turns."""
        plain: dict[str, Any] = loads(dumps(data).encode(), deepest=WRAPPED)
        last = self._running.get(thread, {})
        changed, more = {}, {}
        for key, value in plain.items():
            held = last.get(key)
            if key in last and held == value:
                continue
            if isinstance(held, list) and isinstance(value, list) and held == value[: len(held)]:
                more[key] = value[len(held) :]
            else:
                changed[key] = value
        self._running[thread] = plain
        self.note(
            "running", thread=thread, turn=turn, running=changed, **({"more": more} if more else {})
        )

    def note(self, kind: str, **fields: Any) -> None:
        """Write one record. Called directly for kinds that change no buffer: permission, tool, need, reply, end."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._append(
            dumps({"type": kind, "time": now, **fields}).encode("utf-8", "replace") + b"\n"
        )

    def _append(self, data: bytes) -> None:
        """Write all bytes in one call, or in several if the system takes fewer (a disk that fills up)."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as why:
            raise JournalFailed(
                f"{self.path} cannot be written any more: {why.strerror or why}."
            ) from None

    def close(self) -> None:
        """Close the file. May be called twice."""
        file = self._file
        self._file = -1
        if file >= 0:
            with suppress(OSError):
                os.close(file)


def _prompt(prompt: Prompt) -> dict[str, Any]:
    document = write_buffer(Buffer((), prompt))
    return {"system": document["system"], "tools": document["tools"]}
