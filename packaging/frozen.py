"""The start of a frozen program (packaging/frozen.spec). Also answers as the interpreter that the program starts.

The program starts other processes by `sys.executable`, with `-I -c CODE`, `-I -S SCRIPT` or `-P -m inspector`. In a
frozen program that is the program itself.
"""

import multiprocessing
import runpy
import sys
from pathlib import Path

if not getattr(sys, "frozen", False):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from inspector.__main__ import main

FLAGS = ("-I", "-P", "-S")


def start(words: list[str]) -> int:
    """Run the program, or what the interpreter is asked for. Return the exit status."""
    rest = words.copy()
    while rest and rest[0] in FLAGS:
        del rest[0]
    if rest == words:
        return main()
    sys.argv = rest[1:] if rest[0] == "-m" else rest
    if rest[0] == "-m":
        return main()
    if rest[0] == "-c":
        exec(rest[1], {"__name__": "__main__"})
    else:
        runpy.run_path(rest[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    multiprocessing.freeze_support()
    sys.exit(start(sys.argv[1:]))
