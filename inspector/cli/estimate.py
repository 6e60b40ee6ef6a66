"""`context-inspector estimate [FILE|-]`: tokens of a text."""

import argparse
import sys
from pathlib import Path
from typing import Any

from inspector.cli.output import number, pairs, write_answer
from inspector.core.tokens.estimators import ESTIMATORS, estimator
from inspector.core.tokens.harnesses import classify

ENCODINGS = ("o200k_base", "cl100k_base")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="a text file; - or none = standard input")
    parser.add_argument("--estimator", choices=list(ESTIMATORS), default="roku", metavar="NAME", help="default: roku")
    parser.add_argument("--encoding", choices=ENCODINGS, help="the vocabulary of --estimator tiktoken")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> None:
    """Print it. Raises OSError where the file cannot be read."""
    text = _bytes(arguments.file).decode("utf-8", errors="replace")
    by = estimator(arguments.estimator, arguments.encoding)
    document = {
        "estimator": by.name,
        "class": "text" if (kind := classify(text)) == "empty" else kind,
        "bytes": len(text.encode()),
        "tokens": by.text(text),
        "kind": by.kind,
    }
    write_answer(document, arguments.json, _lines)


def _lines(document: dict[str, Any]) -> list[str]:
    return pairs([(name, number(value) if isinstance(value, int) else str(value)) for name, value in document.items()])


def _bytes(name: str) -> bytes:
    return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
