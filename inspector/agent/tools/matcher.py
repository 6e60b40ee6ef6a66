"""The matching process of search_files: a separate process, so that a pattern that never ends can be stopped.

It reads JSON lines: first {"pattern", "ignore_case", "limit", "chars"}, then {"path", "text"} for each file. It writes
{"error"} for an invalid pattern, {"path", "line", "text"} for a match, and {"done"} after a file. It imports nothing of
the program.
"""

import json
import re
import sys

LINE_CHARS = 20_000
"""Maximum number of characters of a line that are searched."""


def main() -> None:
    """Match files until the input ends or the limit is reached."""
    query = json.loads(sys.stdin.readline())
    try:
        pattern = re.compile(query["pattern"], re.IGNORECASE if query["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as why:
        _say({"error": str(why)})
        return
    left = query["limit"]
    for row in sys.stdin:
        file = json.loads(row)
        for number, line in enumerate(file["text"].split("\n"), 1):
            match = pattern.search(line[:LINE_CHARS])
            if match is None:
                continue
            if not left:
                _say({"full": True})
                return
            left -= 1
            _say(
                {"path": file["path"], "line": number, "text": _around(line, match, query["chars"])}
            )
        _say({"done": True})


def _around(line: str, match: "re.Match[str]", chars: int) -> str:
    """Return the line, or the part of it around the match."""
    line = line.rstrip("\r")
    if len(line) <= chars:
        return line
    start = max(0, min(match.start() - chars // 3, len(line) - chars))
    cut = line[start : start + chars]
    return f"{'…' * (start > 0)}{cut}{'…' * (start + chars < len(line))}"


def _say(value: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
