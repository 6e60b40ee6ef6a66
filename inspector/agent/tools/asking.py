"""What a person is asked before something is changed or run: exactly what it will do, and what "always" would cover."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from inspector.agent.tools.question import Question
from inspector.agent.tools.refused import plain
from inspector.agent.tools.writing import Change

_LARGEST = 200_000
"""Characters up to which what differs is worked out line by line: it costs more than linear time."""
_AROUND = 2
"""Lines that are shown before and after what differs."""
OPEN_END = "\\ no line end at the end of the file"


def about_change(tool: str, change: Change) -> Question:
    """A question with the diff."""
    always = f"Always: {tool} may change any file in this workspace until this run ends."
    if change.before is None:
        what = "Write the new file" if change.after else "Write the new, empty file"
    else:
        what = "Change the file" if change.after != change.before else "Write the file again as it is:"
    return Question(f"{what} {change.told}", difference(change.before or b"", change.after), always, is_diff=True)


def about_command(command: str, folder: str, seconds: float) -> Question:
    """A question with the command, word for word."""
    always = "Always: this very command, letter for letter, until this run ends; any other asks again."
    return Question(
        f"Run in {folder}, for at most {seconds:g} s:", plain(command), f"It can do what you can do. {always}"
    )


def difference(before: bytes, after: bytes) -> str:
    """What is taken out (-), put in (+) and stands around it. No line is cut, none is left out but those that stay."""
    return "\n".join(_diff(_lines(before), _lines(after)))


def _diff(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    first = _same(before, after)
    last = _same(before[first:][::-1], after[first:][::-1])
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    if sum(map(len, old)) + sum(map(len, new)) > _LARGEST:
        groups = [[("replace", first, len(before) - last, first, len(after) - last)]]
    else:
        start = max(0, first - _AROUND)
        tail = max(0, last - _AROUND)
        matcher = SequenceMatcher(None, before[start : len(before) - tail], after[start : len(after) - tail])
        groups = [
            [(kind, a + start, b + start, c + start, d + start) for kind, a, b, c, d in group]
            for group in matcher.get_grouped_opcodes(_AROUND)
        ]
    for group in groups:
        if old or new:
            yield f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@"
            for kind, a, b, c, d in group:
                yield from _rows(" " if kind == "equal" else "-", before[a:b])
                yield from _rows("+", () if kind == "equal" else after[c:d])


def _lines(data: bytes) -> list[str]:
    """With their ends. Bytes that are no text are spelled out."""
    pieces = data.decode("utf-8", "backslashreplace").split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines are the same from the beginning on."""
    least = min(len(one), len(other))
    return next((n for n in range(least) if one[n] != other[n]), least)


def _range(start: int, end: int) -> str:
    return f"{start + 1 if end > start else start},{end - start}"


def _rows(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield OPEN_END
