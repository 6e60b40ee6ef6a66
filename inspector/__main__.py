"""Entry point of `context-inspector`: runs a command of the command line, or opens the window on a file."""

import gc
import os
import sys
from collections.abc import Mapping, Sequence

_LASTING = frozenset(("follow", "proxy", "run", "receive", "simulate", "mcp"))
"""Commands that run until they are stopped, and so need the usual garbage collection."""
_SELDOM = 50_000, 20, 20
"""Thresholds of the garbage collector for other commands, which would spend a tenth of their time in it for nothing."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with these arguments (None: those of the process). Return the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words == ["statusline"]:  # the status line must not wait for other imports
        from inspector.statusline import main as print_status

        return print_status()
    return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    from inspector.cli import main as cli
    from inspector.cli.output import note, open_closed_streams
    from inspector.safety.sealing import seal

    if argv is None:  # started as a program, not called by other code
        open_closed_streams()
        seal()
    words = list(sys.argv[1:] if argv is None else argv)
    if words and (words[0] in cli.COMMANDS or words[0].startswith("-")):
        if argv is None and words[0] not in _LASTING:
            gc.set_threshold(*_SELDOM)
        return cli.main(words)
    if len(words) > 1:
        note(
            f"the window opens one file, and there is no command {words[0]!r}; see context-inspector --help."
        )
        return 2
    if words and not os.path.exists(words[0]):
        note(f"there is neither a file nor a command {words[0]!r}; see context-inspector --help.")
        return 1
    if not _has_display(os.environ):
        note(
            "there is no display to open a window on; see context-inspector --help for what goes without."
        )
        return 1
    gc.disable()  # the window collects garbage itself (`Garbage`); modules loaded now stay
    try:
        from inspector.gui.app import main as open_window  # Qt is imported only for the window
    except ImportError as error:
        from inspector.cli.start_errors import explain_import

        note(explain_import(error))
        return 1
    return open_window(words, _give_up)


def _give_up(messages: Sequence[str]) -> None:
    """Explain that Qt found no screen, and exit before Qt aborts the process. `messages`: those of Qt."""
    from inspector.cli.output import note
    from inspector.cli.start_errors import explain_platform

    note(explain_platform(messages, os.environ))
    sys.stderr.flush()
    os._exit(1)


def _has_display(environment: Mapping[str, str]) -> bool:
    """Is there a display to open a window on? Without one Qt would abort the process."""
    if not sys.platform.startswith("linux"):
        return True
    return any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))


if __name__ == "__main__":
    sys.exit(main())
