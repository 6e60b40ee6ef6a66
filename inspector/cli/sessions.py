"""`context-inspector sessions`: list the transcripts found on this machine, newest first."""

import argparse
from datetime import UTC
from typing import Any

from inspector.cli.output import note, number, picked, plain, table, write_json, write_lines
from inspector.cli.select import add_options, positive
from inspector.transcripts.discover import FoundSession, found_sessions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--limit", metavar="N", type=positive, default=200, help="how many at most (default: 200)"
    )
    add_options(parser, "--json")


def run(arguments: argparse.Namespace) -> None:
    """Print the sessions found on this machine."""
    sessions = found_sessions(limit=arguments.limit)
    if arguments.json:
        write_json({"sessions": [_document(session) for session in sessions]})
    elif sessions:
        rows = [
            (
                listed.when,
                number(listed.size),
                listed.format,
                plain(listed.title, 60),
                plain(str(listed.path)),
            )
            for listed in sessions
        ]
        write_lines(table(("changed", ">bytes", "format", "first prompt", "file"), rows))
    else:
        note(
            "no transcripts were found in the agents' home folders; give a file: context-inspector info FILE."
        )


def _document(session: FoundSession) -> dict[str, Any]:
    modified = f"{session.modified.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    named = {
        "path": str(session.path),
        **picked(session, "format bytes=size"),
        "modified": modified,
    }
    return {**named, **picked(session, "project title")}
