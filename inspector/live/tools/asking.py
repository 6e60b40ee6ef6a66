"""What a person is asked before something is changed or run: exactly what it will do, and what "always" would cover."""

from difflib import unified_diff
from itertools import islice

from inspector.live.tools.limits import Limits
from inspector.live.tools.refused import plain
from inspector.live.tools.writing import Change

_LARGEST = 400_000
"""Bytes up to which a diff is worked out: it costs more than linear time."""


def about_change(tool: str, change: Change, limits: Limits) -> str:
    """A question with the diff."""
    what = "Write the new file" if change.before is None else "Change the file"
    always = f"Always: {tool} may change any file in this workspace until this run ends."
    return f"{what} {change.told}\n\n{_diff(change, limits)}\n\n{always}"


def about_command(command: str, folder: str, seconds: float) -> str:
    """A question with the command, word for word."""
    always = "Always: this very command, letter for letter, until this run ends; any other asks again."
    body = plain(command)
    return f"Run in {folder}, for at most {seconds:g} s:\n\n{body}\n\nIt can do what you can do. {always}"


def _diff(change: Change, limits: Limits) -> str:
    before = (change.before or b"").decode("utf-8", "replace")
    after = change.after.decode("utf-8", "replace")
    if len(before) + len(after) > _LARGEST:
        return f"({len(change.before or b''):,} bytes before, {len(change.after):,} after; too large to compare)"
    rows = unified_diff(before.splitlines(), after.splitlines(), change.told, change.told, lineterm="", n=2)
    lines = [plain(row[:300]) for row in islice(rows, limits.diff_lines + 1)]
    if len(lines) > limits.diff_lines:
        lines[-1] = "… more lines follow …"
    return "\n".join(lines) or "(only the ends of lines change)"
