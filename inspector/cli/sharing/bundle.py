"""`context-inspector bundle FILE -o session.ctx`: pack one session with note and pins for sharing, without private
texts.
"""

import argparse
from pathlib import Path
from typing import Any

from inspector.cli.output import note, progress_line, write_json
from inspector.cli.select import add_options
from inspector.cli.sharing.review import add_review_options, review_texts
from inspector.core.errors import InspectorError
from inspector.core.jsontext import NotJson, loads
from inspector.core.session import SharedWork
from inspector.core.words import plural
from inspector.transcripts.files import find_session_path, open_transcript
from inspector.transcripts.saving import check_target, save_text
from inspector.workbench.sharing.bundle import draft_bundle
from inspector.workbench.steps_file import check_document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("file", metavar="FILE", help="a transcript, or an API request body")
    add_options(parser, "--session", "--format")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the bundle to write")
    parser.add_argument("--note", metavar="TEXT", default="", help="what the reader should know")
    add_options(parser, "--pin")
    parser.add_argument(
        "--steps",
        metavar="FILE",
        action="append",
        default=[],
        help="steps that `step --save-steps` wrote; repeatable",
    )
    add_review_options(parser)
    add_options(parser, "--force", "--json")


def run(arguments: argparse.Namespace) -> None:
    """List the private texts, ask, and write the bundle. Raises InspectorError."""
    check_target(arguments.output, arguments.force)
    path = Path(arguments.file)
    if arguments.session is not None:
        path = find_session_path(path, arguments.session)
    session = open_transcript(path, format=arguments.format, progress=progress_line())
    former = session.shared or SharedWork()
    steps = (*former.steps, *map(_read_steps, arguments.steps))
    work = SharedWork(arguments.note or former.note, (*former.pins, *arguments.pin), steps)
    draft = draft_bundle(session, work)
    redaction = review_texts(draft.found, arguments, "bundle")
    packed = draft.pack(redaction)
    for failure in packed.failures:
        note(f"Steps were left out: {failure}")
    save_text(packed.data, path=arguments.output, force=arguments.force, source=session.path)
    size = len(packed.data)
    output = arguments.output
    if arguments.json:
        write_json({"output": output, "bytes": size, "redacted": len(redaction)})
    else:
        note(f"{output} was written: {size:,} bytes, {plural(len(redaction), 'text')} redacted.")


def _read_steps(file: str) -> Any:
    try:
        return check_document(loads(Path(file).read_bytes()))
    except NotJson as why:
        raise InspectorError(f"{file} is not JSON: {why}.") from None
