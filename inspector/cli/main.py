"""The command line: one module per command, each a thin layer over the core. This module dispatches and reports
failures.

Exit status: 0 done; 1 an expected failure, with one sentence on stderr; 2 wrong usage. Stdout holds only the answer.
"""

import argparse
import importlib
import sys
from collections.abc import Container, Sequence
from types import ModuleType

from inspector import __version__
from inspector.cli.output import note, silence_stdout, use_utf8
from inspector.core.errors import InspectorError

COMMANDS = {
    "info": "what the transcript holds",
    "buffer": "the buffer of one request, message by message",
    "breakdown": "what fills the buffer of one request, and its duplicates",
    "calibrate": "compare estimators with reported tokens",
    "estimate": "count the tokens of a text",
    "lost": "what the recorded compactions lost, and which of the lost facts were needed again",
    "step": "run one tier, or all tiers that are due",
    "replay": "replay a policy over the whole session",
    "cost": "what the session cost: cache misses with their cause, compactions, what was avoidable",
    "pins": "which instructions of the user are still in context, and what removed the others",
    "follow": "pressure while a transcript grows, one line per request",
    "proxy": "record the requests between an agent and its provider",
    "run": "run the built-in agent",
    "receive": "receive and record the spans that tracers on this machine send",
    "sessions": "transcripts found on this machine",
    "simulate": "a simulated provider on this machine, with faults on demand",
    "statusline": "the status line of Claude Code: pressure, requests to compaction, rules at risk",
    "hook": "a hook of coding agents that gives back what a compaction lost",
    "mcp": "answers about one session for an agent, over stdio",
    "report": "one HTML file about a session, without private texts",
    "bundle": "one session to share, with note, pins and steps, without private texts",
    "desktop": "menu entry, icon and file type for this user",
}
"""The commands and what they do. A command is `inspector/cli/NAME.py`: `add_arguments(parser)` and `run(arguments)`."""
_FOLDERS = {
    "statusline": "beside.",
    "hook": "beside.",
    "mcp": "beside.",
    "desktop": "beside.",
    "report": "sharing.",
    "bundle": "sharing.",
}
"""Packages of the commands that are not in this folder."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    use_utf8()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        note("stopped.")
        return 130
    except BrokenPipeError:  # the reader has closed the pipe
        silence_stdout()
    except InspectorError as failure:
        note(str(failure))
        return 1
    except OSError as failure:
        what = failure.strerror or str(failure)
        note(f"{failure.filename}: {what}." if failure.filename else f"{what}.")
        silence_stdout()  # the buffered output could not be written at exit either
        return 1
    else:
        return status
    return 0


def _run(words: list[str]) -> int:
    try:
        command, arguments = _parse(words)
        command.run(arguments)
    except SystemExit as stop:  # argparse has printed the error or the help
        return stop.code if isinstance(stop.code, int) else 2
    return 0


def _parse(words: list[str]) -> tuple[ModuleType, argparse.Namespace]:
    # Importing only this command keeps the start fast.
    requested = words[:1] if words and words[0] in COMMANDS else []
    arguments = build_parser(requested).parse_args(words)
    return _module(arguments.command), arguments


def build_parser(commands: Container[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands. Only the commands in `commands` are imported and get their options."""
    parser = argparse.ArgumentParser(
        prog="context-inspector",
        usage="context-inspector [FILE]\n       context-inspector COMMAND ...",
        description="The debugger for an LLM agent's context window. Without a command it opens the window on FILE.",
        epilog="`context-inspector COMMAND --help` says more about each.",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=28),
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"context-inspector {__version__}")
    subparsers = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, prog="context-inspector"
    )
    for name, purpose in COMMANDS.items():
        command = subparsers.add_parser(name, help=purpose, description=purpose, allow_abbrev=False)
        if name in commands:
            _module(name).add_arguments(command)
    return parser


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"inspector.cli.{_FOLDERS.get(name, '')}{name}")
