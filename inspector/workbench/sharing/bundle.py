"""A session with notes, pins and steps, made ready to be shared: reviewed, redacted and packed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector import __version__
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps, loads
from inspector.core.session import Session, SharedWork
from inspector.transcripts.bundle import BundleRecord, write_bundle
from inspector.transcripts.records import SessionRecords, build_session, read_records
from inspector.workbench.sharing.redaction import PrivateText, PrivateTexts, Redaction
from inspector.workbench.sharing.shared_steps import find_origin
from inspector.workbench.steps_file import (
    StepsSource,
    buffer_fingerprint,
    replay_steps,
    write_steps,
)


@dataclass(frozen=True, slots=True)
class PackedBundle:
    """The bytes of a bundle, and what could not be put into it."""

    data: bytes
    failures: Sequence[str] = field(default=())
    """Reasons for which trees of steps were left out."""


@dataclass(frozen=True, slots=True)
class BundleDraft:
    """A bundle that has not been reviewed yet."""

    records: SessionRecords
    work: SharedWork
    found: Sequence[PrivateText]
    """Texts in the bundle that look private."""

    def pack(self, redaction: Redaction) -> PackedBundle:
        """Return the bundle with private texts replaced by `redaction`. O(records)."""
        source = self.records
        work = self.work
        records = [_redact_record(record, redaction) for record in source.records]
        failures: list[str] = []
        steps: list[Any] = []
        if work.steps:
            session = build_session(source.format, source.inner, records)
            for document in work.steps:
                try:
                    steps.append(_repeat_steps(redaction.replace_in_value(document), session))
                except InspectorError as failure:
                    failures.append(str(failure))
        manifest = {
            "program": __version__,
            "format": source.format,
            "session": redaction.replace(source.inner),
            "note": redaction.replace(work.note),
            "pins": list(map(redaction.replace, work.pins)),
            "steps": steps,
            "redacted": len(redaction),
        }
        return PackedBundle(write_bundle(manifest, records), failures)


def draft_bundle(
    session: Session, work: SharedWork, cancelled: Callable[[], bool] | None = None
) -> BundleDraft:
    """Read a session again and collect every private text that a bundle of it would disclose. Raises InspectorError."""
    records = read_records(session, cancelled)
    private = PrivateTexts()
    for record in records.records:
        file = f"{record.file}, " if record.file else ""
        private.add_value(f"{file}line {record.line}", record.written)
        if record.file:
            private.add_text("file name", record.file)
    private.add_text("note", work.note)
    for pin in work.pins:
        private.add_text("pin", pin)
    for document in work.steps:
        private.add_value("steps", dumps(document))
    return BundleDraft(records, work, private.found)


def _redact_record(record: BundleRecord, redaction: Redaction) -> BundleRecord:
    value = loads(record.written.encode())
    written = dumps(redaction.replace_in_value(value))
    return BundleRecord(record.line, redaction.replace(record.file), written)


def _repeat_steps(document: Any, session: Session) -> Any:
    """Run saved steps again on the redacted session and write them. Raises InspectorError."""
    origin, recorded = find_origin(session, document)
    start = {"messages": len(origin.messages), "fingerprint": buffer_fingerprint(origin)}
    steps = replay_steps({**document, "start": start}, origin, recorded).steps
    return write_steps(steps, StepsSource("", session.id, session.format))
