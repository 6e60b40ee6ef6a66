"""Review on the terminal what a shared file would disclose."""

import argparse
import sys
from collections.abc import Sequence

from inspector.cli.output import plain, table, write_lines
from inspector.core.errors import InspectorError
from inspector.workbench.sharing.redaction import PrivateText, Redaction


def add_review_options(parser: argparse.ArgumentParser) -> None:
    """Add the option --redact."""
    parser.add_argument(
        "--redact", choices=("all",), help="replace everything that is listed, without a question"
    )


def review_texts(
    texts: Sequence[PrivateText], arguments: argparse.Namespace, what: str
) -> Redaction:
    """Show what will be replaced, and ask. Raises InspectorError unless the user says yes.

    Args:
        texts: The private texts.
        arguments: The command's options.
        what: The kind of file to be written, as the question names it.
    """
    redaction = Redaction(texts)
    if not texts or arguments.redact == "all":
        return redaction
    rows = [
        (
            private.kind,
            str(private.times),
            plain(private.place, 40),
            plain(private.preview, 60),
            private.replacement,
        )
        for private in texts
    ]
    write_lines(table(("kind", ">times", "first in", "text", "replaced by"), rows))
    if not sys.stdin.isatty():
        raise InspectorError(
            "These texts look private, so nothing was written. Give --redact all to replace them."
        )
    sys.stderr.write(f"Replace all of them and write the {what}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InspectorError("Nothing was written.")
    return redaction
