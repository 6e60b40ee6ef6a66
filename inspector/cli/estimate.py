"""`context-inspector estimate [FILE|-]`: count the tokens of a text."""

import argparse
import sys
from pathlib import Path

from inspector.cli.output import number, pairs, write_json, write_lines
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, ESTIMATORS, estimator
from inspector.core.tokens.harnesses import classify

ENCODINGS = ("o200k_base", "cl100k_base")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="-",
        help="a text file; - or none = standard input",
    )
    names = list(ESTIMATORS)
    parser.add_argument(
        "--estimator",
        choices=names,
        default=DEFAULT_ESTIMATOR,
        metavar="NAME",
        help="default: %(default)s",
    )
    parser.add_argument(
        "--encoding", choices=ENCODINGS, help="the vocabulary of --estimator tiktoken"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> None:
    """Print the estimate. Raises OSError if the file cannot be read."""
    data = sys.stdin.buffer.read() if arguments.file == "-" else Path(arguments.file).read_bytes()
    text = data.decode("utf-8", errors="replace")
    chosen = estimator(arguments.estimator, arguments.encoding)
    document = {
        "estimator": chosen.name,
        "class": "text" if (kind := classify(text)) == "empty" else kind,
        "bytes": len(text.encode()),
        "tokens": chosen.text(text),
        "kind": chosen.kind,
    }
    if arguments.json:
        write_json(document)
    else:
        rows = [
            (key, number(value) if isinstance(value, int) else str(value))
            for key, value in document.items()
        ]
        write_lines(pairs(rows))
