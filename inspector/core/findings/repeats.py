"""Find duplicates: spans that occur several times in a buffer word for word, and the tokens of all but the newest copy.

A span is a run of whole lines of one text (of a user message, an answer, a result, or a long argument of a call) with
at least `LEAST` characters, including line ends. Two spans are equal if all their lines are equal: lines are compared
as text, never only by a hash. The line numbers that reading tools print before each line (`   12→`, a tab, a colon) are
not part of a line. The search takes time linear in the text:

- Every line gets a number; equal lines get the same number.
- A *seed* begins at a line and ends as soon as it has `LEAST` characters: it is the shortest span from that line. Seeds
  with the same numbers are the same text. If a seed occurred before, without overlapping itself, each of its lines is
  linked to the older line, and so are the following lines as far as they are equal.
- Linked lines are copies of one another. Lines with copies in the same messages form one row. A file that was read
  three times as a whole and three times in part forms two rows.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count

from inspector.core.buffer import Buffer
from inspector.core.calls import subject_of
from inspector.core.findings.breakdown import ToolCalls
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.tokens.sizing import Sizer

LEAST = 200
"""Characters of the shortest span, line ends included."""
_NUMBERED = re.compile(r"^ *\d+(?:→|\t|[:|])", re.MULTILINE)
_SPACED = re.compile(r"^ *\d+[:|] ", re.MULTILINE)
_UNSPACED = re.compile(r"^ *\d+[:|](?! )", re.MULTILINE)
_DIGITS = re.compile(r" *(\d+)")
_HEAD = 400
"""Number of first characters that are searched for a numbered line: a name or a remark may precede it."""
_BEGINNING, _RANGES = 80, 3
"""Largest number of characters by which a span without a file or command is named; of line ranges that are listed."""


@dataclass(frozen=True, slots=True)
class SpanPlace:
    """Lines `first` to `last` (0-based, both included) of a text of a message."""

    message: int
    """Place of the message in the buffer."""
    text: int
    """Index of the text among the texts that `searched` yields."""
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """Spans with copies in the same messages."""

    what: str
    """The file or command of all copies, with the printed line numbers; else the beginning of the span."""
    tokens_each: int
    """Tokens of the newest copy."""
    copies: tuple[tuple[SpanPlace, ...], ...]
    """The places of the spans of each copy, oldest copy first. All copies have the same text, line by line."""

    @property
    def times(self) -> int:
        """Return the number of copies in the buffer."""
        return len(self.copies)

    @property
    def free(self) -> int:
        """Return the tokens of all copies but the newest."""
        return self.tokens_each * (self.times - 1)

    @property
    def messages(self) -> tuple[int, ...]:
        """Return the place of the message of each copy, oldest first; a message with two copies is listed twice."""
        return tuple(copy[0].message for copy in self.copies)


def searched(message: Message) -> Iterator[str]:
    """Yield the texts of a message that are compared: text parts, tool results, and the long arguments of calls."""
    for part in message.parts:
        match part:
            case Text(text) | ToolResult(content=text):
                yield text
            case ToolCall(arguments=arguments):
                values = arguments.values() if isinstance(arguments, Mapping) else (arguments,)
                yield from (
                    value for value in values if isinstance(value, str) and len(value) + 1 >= LEAST
                )
            case _:
                pass


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, without the numbers that a reading tool printed before them."""
    if _NUMBERED.search(text, 0, _HEAD):
        spaced = _SPACED.search(text, 0, _HEAD) and not _UNSPACED.search(text)
        text = (_SPACED if spaced else _NUMBERED).sub("", text)
    return text.split("\n")


def repeats(size: Sizer, buffer: Buffer, calls: ToolCalls) -> tuple[Repeat, ...]:
    """Return the duplicates of a buffer, those with most superfluous tokens first. O(text)."""
    index = _LineIndex(buffer.messages)
    index.link()
    calls_here = {call.id: call for message in buffer.messages for call in message.calls}

    @cache
    def text_lines(message: int, text: int) -> list[str]:
        return list(searched(buffer.messages[message]))[text].split("\n")

    @cache
    def subject(at: int) -> str:
        message = buffer.messages[at]
        call = message.calls[0] if message.calls else None
        result = message.result
        if result is not None:
            call = calls_here.get(result.call_id) or calls.by_id.get(result.call_id)
        return subject_of(call) if call is not None else ""

    duplicates = []
    for row in index.rows():
        copies = index.places(row)
        newest_copy = copies[-1]
        spans = []
        for span in newest_copy:
            lines = text_lines(span.message, span.text)
            spans.append(lines[span.first : span.last + 1])
        subjects = {subject(copy[0].message) for copy in copies}
        text = "\n".join("\n".join(span_lines) for span_lines in spans)
        duplicates.append(Repeat(_described(subjects - {""}, spans), size.text(text), copies))
    return tuple(sorted(duplicates, key=lambda duplicate: -duplicate.free))


def _described(subjects: set[str], spans: Sequence[Sequence[str]]) -> str:
    """Return the file or command if all copies have the same; else the beginning of the span."""
    if len(subjects) != 1:
        bare = (line.strip() for span in spans for line in lines_of("\n".join(span)))
        first_line = next(filter(None, bare), "")
        if len(first_line) > _BEGINNING:
            return f"{first_line[: _BEGINNING - 1]}…"
        return first_line
    (subject,) = subjects
    numbers = list(filter(None, map(_numbers, spans)))
    if not numbers:
        return subject
    ranges = ", ".join(numbers[:_RANGES])
    more = ", …" if len(numbers) > _RANGES else ""
    return f"{subject} lines {ranges}{more}"


class _LineIndex:
    """The numbers of all lines of a buffer, one text after another, with -1 after each text."""

    def __init__(self, messages: Sequence[Message]) -> None:
        numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._ids: list[int] = []
        self._text_at: list[int] = []
        """Index in `_texts` of the text that each line is in."""
        self._texts: list[tuple[int, int, int]] = []
        """(place of the message, index of the text in the message, place of the text's first line)."""
        for at, message in enumerate(messages):
            for n, text in enumerate(searched(message)):
                if len(text) + 1 >= LEAST:
                    self._texts.append((at, n, len(self._ids)))
                    lines = lines_of(text)
                    self._ids += map(numbers.__getitem__, lines)
                    self._ids.append(-1)
                    self._text_at += [len(self._texts) - 1] * (len(lines) + 1)
        self._sizes = [len(line) + 1 for line in numbers]
        self._older = list(range(len(self._ids)))
        """For each line, the place of an older copy; the line's own place if none is known yet."""
        self._linked: list[int] = []
        """The places of all lines that have an older copy, each once."""

    def link(self) -> None:
        """Find all copies. Only runs of lines that occur more than once are compared."""
        times = Counter(self._ids)
        is_repeated = [times[n] > 1 for n in range(len(self._sizes))]
        is_repeated.append(False)  # for the separator -1
        seen: dict[tuple[int, ...], int] = {}
        for run in re.finditer(b"\x01+", bytes(map(is_repeated.__getitem__, self._ids))):
            start, stop = run.span()
            size = sum(map(self._sizes.__getitem__, self._ids[start:stop]))
            if size >= LEAST:
                self._link_run(start, stop, seen)

    def _link_run(self, start: int, stop: int, seen: dict[tuple[int, ...], int]) -> None:
        ids, sizes = self._ids, self._sizes
        end = start
        size = 0
        distance = linked = 0  # distance to the current older copy; end of the lines linked to it
        for at in range(start, stop):
            while size < LEAST and end < stop:
                size += sizes[ids[end]]
                end += 1
            if size < LEAST:
                break
            seed = tuple(ids[at:end])
            older = seen.get(seed)
            if older is None or older + len(seed) <= at:
                seen[seed] = at
            if older is not None and older + len(seed) <= at:
                if at - older != distance:
                    self._link_rest(linked, stop, distance)
                    distance = at - older
                    linked = at
                for place in range(max(linked, at), end):
                    self._join(place, place - distance)
                linked = end
            size -= sizes[ids[at]]
        self._link_rest(linked, stop, distance)

    def _link_rest(self, at: int, stop: int, distance: int) -> None:
        """Link the equal lines after a copy that are too short for another seed."""
        size = 0
        while distance and at < stop and size < LEAST and self._ids[at] == self._ids[at - distance]:
            self._join(at, at - distance)
            size += self._sizes[self._ids[at]]
            at += 1

    def _join(self, place: int, older: int) -> None:
        """Mark the lines at two places as copies of one another."""
        roots = self._oldest(place), self._oldest(older)
        first = min(roots)
        last = max(roots)
        if first != last:
            self._older[last] = first
            self._linked.append(last)

    def _oldest(self, at: int) -> int:
        older = self._older
        while older[at] != at:
            older[at] = at = older[older[at]]
        return at

    def rows(self) -> Iterator[list[list[int]]]:
        """Yield groups of lines whose copies are in the same texts; for each line the places of its copies, oldest
        first."""
        copies: defaultdict[int, list[int]] = defaultdict(list)
        for place in sorted(self._linked):
            copies[self._oldest(place)].append(place)
        rows: defaultdict[tuple[int, ...], list[list[int]]] = defaultdict(list)
        for oldest, others in copies.items():
            places = [oldest, *others]
            rows[tuple(map(self._text_at.__getitem__, places))].append(places)
        for row in rows.values():
            row.sort(key=lambda places: places[-1])
            yield row

    def places(self, row: list[list[int]]) -> tuple[tuple[SpanPlace, ...], ...]:
        """Return the runs of lines of each copy, oldest copy first."""
        by_copy = zip(*row, strict=True)
        return tuple(tuple(self._runs(list(places))) for places in by_copy)

    def _runs(self, places: list[int]) -> Iterator[SpanPlace]:
        first = last = places[0]
        for place in (*places[1:], -1):
            if place != last + 1:
                message, text, begin = self._texts[self._text_at[first]]
                yield SpanPlace(message, text, first=first - begin, last=last - begin)
                first = place
            last = place


def _numbers(span: Sequence[str]) -> str:
    """Return the printed numbers of the first and the last line, `1-180`; empty without any."""
    first = _printed_number(span[0])
    last = _printed_number(span[-1])
    if not first or not last:
        return ""
    return first if first == last else f"{first}-{last}"


def _printed_number(line: str) -> str:
    match = _DIGITS.match(line) if _NUMBERED.match(line) else None
    return match[1] if match else ""
