"""Whatever format a buffer comes from, in whatever shape it is exported: the file opens again and says the same."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from inspector.core.buffer import Buffer
from inspector.core.export import WRITERS
from inspector.core.message import Message
from inspector.core.session import Session, Thread
from inspector.transcripts.files import open_transcript
from inspector.transcripts.saving import SHAPES, buffer_text
from tests.core.formats.samples import Sample, read, samples
from tests.core.formats.test_every_format import NAMES, exchanged

SAMPLES = samples()
PAYLOADS = [shape for shape in SHAPES if shape != "native"]
TARGETS = [(shape, "") for shape in PAYLOADS] + [("native", writer) for writer in WRITERS]


def texts(messages: Sequence[Message]) -> list[str]:
    """What has to survive in every shape: words, calls and results in their order, however they are grouped."""
    said: list[str] = []
    for message in messages:
        said += [call.name for call in message.calls]
        if message.text.strip() and message.role != "system":
            said.append(message.text.strip())
        if message.result is not None and message.result.content.strip():
            said.append(message.result.content.strip())
    return sorted(" ".join(said).split())


def buffers(thread: Thread) -> list[Buffer]:
    """The last request and the end: what people export."""
    last = [request.buffer() for request in thread.requests[-1:]]
    return [*last, Buffer(thread.end.messages(), thread.prompt)]


def exported(buffer: Buffer, shape: str, writer: str, folder: Path) -> Session:
    path = folder / "exported.jsonl"
    path.write_text(buffer_text(buffer, shape, writer, "oak-2"), encoding="utf-8")
    return open_transcript(path)


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
@pytest.mark.parametrize(
    ("shape", "writer"), TARGETS, ids=[writer or shape for shape, writer in TARGETS]
)
def test_export_of_any_format_opens_as_its_shape(
    sample: Sample, shape: str, writer: str, tmp_path: Path
) -> None:
    for thread in sample.read().threads:
        for buffer in buffers(thread):
            if not any(message.parts for message in buffer.messages):
                continue
            session = exported(buffer, shape, writer, tmp_path)
            assert session.format == (writer or shape)
            assert not session.problems
            assert texts(session.main.end.messages()) == texts(buffer.messages)


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_export_of_a_damaged_file_opens_as_its_shape(sample: Sample, tmp_path: Path) -> None:
    """Values of another kind in place of texts: whatever the reader makes of them can be exported and read again."""
    chance = Random(sample.name)
    for n in range(12):
        fed = exchanged(sample.fed, chance, [None, 7, "", [], {}, {"role": {}}, "x" * 40])
        shape, writer = TARGETS[n % len(TARGETS)]
        for thread in read(sample.format, fed).threads:
            for buffer in buffers(thread):
                if any(message.parts for message in buffer.messages):
                    assert exported(buffer, shape, writer, tmp_path).format == (writer or shape)
