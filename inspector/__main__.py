"""`context-inspector`: a command answers on the command line, anything else opens the window."""

import sys
from collections.abc import Sequence

from inspector import cli


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and (words[0] in cli.COMMANDS or words[0] in cli.LATER or words[0] in ("-h", "--help", "--version")):
        return cli.main(words)
    from inspector import app  # Qt is imported only for the window

    return app.main(words)


if __name__ == "__main__":
    sys.exit(main())
