"""YAML in, as programs write it: the block style with plain, quoted and literal texts, empty and short lists in line,
anchors. What only people write (several documents, merged keys, complex keys) raises NotYaml.

Out come the values that JSON has, and bytes for `!!binary`; times stay text. https://yaml.org/spec/1.1/
"""

import re
from base64 import b64decode
from binascii import Error
from dataclasses import dataclass
from typing import Any

from inspector.core.jsontext import DEEPEST, without_surrogates


class NotYaml(ValueError):
    """The text is no YAML that can be read here. `str(error)` says why, in a few words."""


def loads(data: bytes) -> Any:
    """Parse one document. Raises NotYaml."""
    lines = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    try:
        return _Parser(lines).document()
    except RecursionError:
        raise NotYaml("nested too deeply") from None


_DOUBLE = re.compile(r'(?:[^"\\]|\\.)*+"')
_SINGLE = re.compile(r"(?:[^']|'')*+'")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"} | {
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_BLOCK = re.compile(r"([|>])([+-]?)([1-9]?)([+-]?)[ \t]*(?:#.*)?$")
_PROPERTY = re.compile(r"([&!])(\S*)[ \t]*")
_PAIR = re.compile(r":(?=[ \t]|$)")
_END = re.compile(r"[ \t]#")
"""Where a comment begins behind a value."""
_FLOW = re.compile(
    r'"(?:[^"\\]|\\.)*+"|\'(?:[^\']|\'\')*+\'|[\[\]{},]|:(?=[ ,\]}]|$)|[^\s\[\]{},:"\'][^\s\[\]{},:]*+|\s+|.'
)
_BREAKS = re.compile("([\x85\u2028\u2029])( +)")
"""Other ends of lines, with the indentation that was written after them."""
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?")
_WORDS = dict.fromkeys(("", "~", "null", "Null", "NULL")) | {
    word: value
    for value, words in ((True, "true yes on"), (False, "false no off"))
    for plain in words.split()
    for word in (plain, plain.capitalize(), plain.upper())
}


_HEAVIEST = 1 << 28


@dataclass(frozen=True, slots=True)
class _AnchoredValue:
    """What a name stands for."""

    value: Any
    weight: int


class _Parser:
    """Walks down the lines; `at` is the next one."""

    def __init__(self, lines: list[str]) -> None:
        self._lines, self._at, self._depth = lines, 0, 0
        self._anchors: dict[str, _AnchoredValue] = {}
        self._weight = 0
        """Characters and values so far, those that aliases repeat among them."""
        self._levels: dict[int, int] = {}
        """Lists and maps that stand in one another, in what has an anchor."""

    def document(self) -> Any:
        self._next()
        if self._at < len(self._lines) and self._lines[self._at].startswith("---"):
            self._lines[self._at] = self._lines[self._at][3:]
        value = self._node(-1)
        if self._next() is not None and not self._lines[self._at].startswith("..."):
            raise self._wrong("it is not where it should stand")
        return value

    def _wrong(self, why: str) -> NotYaml:
        return NotYaml(f"line {self._at + 1}: {why}")

    def _next(self) -> int | None:
        """Go to the next line that is neither blank nor a comment; its indentation, None at the end."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            text = line.lstrip(" ")
            if text.strip() and not text.startswith("#"):
                return len(line) - len(text)
            self._at += 1
        return None

    def _node(self, above: int) -> Any:
        """The value that begins on the next line, further in than `above`; None where nothing does."""
        indent = self._next()
        if indent is None or indent <= above:
            return None
        text = self._lines[self._at][indent:]
        if text.startswith("- ") or text == "-":
            return self._list(indent)
        if self._key(text) is not None:
            return self._map(indent)
        return self._value(indent, above)

    def _list(self, indent: int) -> list[Any]:
        found: list[Any] = []
        self._deeper()
        while self._next() == indent:
            text = self._lines[self._at][indent:]
            if not (text.startswith("- ") or text == "-"):
                break
            rest = text[1:].lstrip(" ")
            start = len(self._lines[self._at]) - len(rest)
            nested = rest.startswith("- ") or rest == "-" or self._key(rest) is not None
            if nested:  # what stands behind the dash is a list or a map, further in
                self._lines[self._at] = " " * start + rest
                found.append(self._node(indent))
            else:
                found.append(self._value(start, indent))
        self._depth -= 1
        return found

    def _map(self, indent: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._deeper()
        while self._next() == indent:
            text = self._lines[self._at][indent:]
            key = self._key(text)
            if key is None:
                break
            name, start = key
            found[name] = self._value(indent + start, indent, is_pair=True)
        self._depth -= 1
        return found

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._wrong("nested too deeply")

    def _key(self, text: str) -> tuple[str, int] | None:
        """The key that a line begins with, and where its value begins; None where it begins with none."""
        quote = text[:1]
        if quote in ('"', "'"):
            end = (_DOUBLE if quote == '"' else _SINGLE).match(text, 1)
            if end is None or not _PAIR.match(text, end.end()):
                return None
            return _unquoted(quote, [text[1 : end.end() - 1]]), end.end() + 1
        if quote in ("[", "{", "|", ">", "&", "*", "!", "%", "@", "`", "#", "") or text.startswith(("- ", "? ")):
            return None
        found = _PAIR.search(text, 1)
        if found is None or _END.search(text, 0, found.start()):
            return None
        return text[: found.start()].rstrip(), found.end()

    def _value(self, start: int, above: int, is_pair: bool = False) -> Any:
        """The value at that place of this line, part of something that is indented by `above`."""
        line = self._lines[self._at]
        start += len(line[start:]) - len(line[start:].lstrip(" \t"))
        tag, anchor, before = "", "", self._weight
        while found := _PROPERTY.match(line, start):
            tag, anchor = (found[2], anchor) if found[1] == "!" else (tag, found[2])
            start = found.end()
        value = self._untagged(line, start, above, is_pair)
        if tag.lstrip("!").endswith("binary") and isinstance(value, str):
            value = _binary(value)
        self._weigh(1 + (len(value) if isinstance(value, str | bytes) else 0))
        if anchor:
            self._anchors[anchor] = _AnchoredValue(value, self._weight - before)
        return value

    def _weigh(self, more: int) -> None:
        self._weight += more
        if self._weight > _HEAVIEST:
            raise self._wrong("its aliases repeat too much")

    def _levels_of(self, value: Any) -> int:
        if not isinstance(value, list | dict):
            return 0
        if id(value) not in self._levels:
            inner = value.values() if isinstance(value, dict) else value
            self._levels[id(value)] = 1 + max(map(self._levels_of, inner), default=0)
        return self._levels[id(value)]

    def _untagged(self, line: str, start: int, above: int, is_pair: bool) -> Any:
        first = line[start : start + 1]
        if not first or first == "#":
            self._at += 1
            following = self._next()
            dashes = following is not None and self._lines[self._at][following:].startswith("-")
            return self._node(above - 1 if is_pair and following == above and dashes else above)
        if first == "*":
            self._at += 1
            name = line[start + 1 :].split("#", maxsplit=1)[0].strip()
            if (known := self._anchors.get(name)) is None:
                raise self._wrong(f"there is no anchor {name[:40]}")
            self._weigh(known.weight)
            if self._depth + self._levels_of(known.value) > DEEPEST:
                raise self._wrong("nested too deeply")
            return known.value
        if first in ("|", ">"):
            return self._block(line[start:], above)
        if first in ('"', "'"):
            return self._quoted(first, start)
        if first in ("[", "{"):
            return self._flow(start)
        return self._plain(start, above)

    # -- texts

    def _block(self, head: str, above: int) -> str:
        found = _BLOCK.match(head)
        if found is None:
            raise self._wrong("the head of a text is not understood")
        self._at += 1
        lines: list[str] = []
        indent = above + int(found[3]) if found[3] else 0
        if found[3] and above < 0:
            indent = int(found[3])
        while self._at < len(self._lines):
            line = self._lines[self._at]
            own = len(line) - len(line.lstrip(" "))
            if line.strip(" "):
                if own <= above or (indent and own < indent):
                    break
                indent = indent or own
            lines.append(line)
            self._at += 1
        texts = [line[indent:] for line in lines]
        while texts and not texts[-1]:
            texts.pop()
        chomp = found[2] or found[4]
        texts = [_BREAKS.sub(lambda found: found[1] + found[2][indent:], text) for text in texts]
        body = "\n".join(texts) if found[1] == "|" else _folded_block(texts)
        end = "\n" * (len(lines) - len(texts) + bool(texts)) if chomp == "+" else "\n" * bool(texts)
        if chomp == "+" and self._at >= len(self._lines):  # what follows the last newline is no line
            end = end[:-1]
        return body + ("" if chomp == "-" else end)

    def _quoted(self, quote: str, start: int) -> str:
        pattern = _DOUBLE if quote == '"' else _SINGLE
        lines: list[str] = []
        at = start + 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            end = pattern.match(line, at)
            self._at += 1
            if end is not None:
                lines.append(line[at : end.end() - 1])
                return _unquoted(quote, lines)
            lines.append(line[at:])
            at = 0
        raise self._wrong("a text has no end")

    def _plain(self, start: int, above: int) -> Any:
        line = self._lines[self._at]
        lines = [_uncommented(line[start:])]
        self._at += 1
        while self._at < len(self._lines) and not _END.search(line):
            line = self._lines[self._at]
            text = line.strip()
            if text and (len(line) - len(line.lstrip(" ")) <= above or text.startswith("#")):
                break
            lines.append(_uncommented(text))
            self._at += 1
        while not lines[-1] and len(lines) > 1:
            lines.pop()
        if any(map(_PAIR.search, lines)):
            raise self._wrong("a key stands where none may")
        return _scalar(lines[0]) if len(lines) == 1 else _folded(lines)

    def _flow(self, start: int) -> Any:
        """A list or map in line: as many lines as it takes to close what was opened."""
        tokens: list[str] = []
        depth = 0
        while self._at < len(self._lines):
            text = self._lines[self._at][start:]
            self._at, start = self._at + 1, 0
            for found in _FLOW.finditer(text):
                if found[0] in ('"', "'"):
                    raise self._wrong("a text in line has no end")
                tokens.append(found[0])
                depth += (found[0] in ("[", "{")) - (found[0] in ("]", "}"))
                if depth > DEEPEST:
                    raise self._wrong("nested too deeply")
                if not depth:
                    return _flow_value(tokens, 0)[0]
            tokens.append("\n")
        raise self._wrong("a list has no end")


def _flow_value(tokens: list[str], at: int) -> tuple[Any, int]:
    """The value that begins there, and the place after it."""
    at = _after_blanks(tokens, at)
    first = tokens[at]
    if first not in ("[", "{"):
        return _flow_text(tokens, at, ",]}")
    found: list[Any] = []
    pairs: dict[str, Any] = {}
    at = _after_blanks(tokens, at + 1)
    while tokens[at] not in ("]", "}"):
        value, at = _flow_value(tokens, at) if first == "[" else _flow_text(tokens, at, ",}:")
        at = _after_blanks(tokens, at)
        if first == "{":
            key, value = str(value), None
            if tokens[at] == ":":
                value, at = _flow_value(tokens, at + 1)
                at = _after_blanks(tokens, at)
            pairs[key] = value
        found.append(value)
        if tokens[at] == ",":
            at = _after_blanks(tokens, at + 1)
        elif tokens[at] not in ("]", "}"):
            raise NotYaml("a list in line is not understood")
    return (found if first == "[" else pairs), at + 1


def _after_blanks(tokens: list[str], at: int) -> int:
    while tokens[at].isspace():
        at += 1
    return at


def _flow_text(tokens: list[str], at: int, ends: str) -> tuple[Any, int]:
    start = at
    while tokens[at] not in ends:
        at += 1
    text = " ".join(line.strip() for line in "".join(tokens[start:at]).split("\n")).strip()
    if text[:1] in ("&", "*", "!"):
        raise NotYaml("a list in line is not understood")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return _unquoted(text[0], [text[1:-1]]), at
    return _scalar(text), at


def _scalar(text: str) -> Any:
    """A plain text by its look, as YAML 1.1 has it but for times."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _uncommented(text: str) -> str:
    found = _END.search(text)
    return (text[: found.start()] if found else text).strip()


def _binary(text: str) -> bytes:
    try:
        return b64decode(text)
    except (Error, ValueError):
        raise NotYaml("what should be base64 is none") from None


def _folded(lines: list[str]) -> str:
    """Lines of one text: a blank between them, as many newlines as there are empty lines."""
    out = [lines[0].rstrip(" \t") if len(lines) > 1 else lines[0]]
    empty = 0
    for n, line in enumerate(lines[1:], 1):
        text = line.strip(" \t") if n < len(lines) - 1 else line.lstrip(" \t")
        if text or n == len(lines) - 1:
            out += ["\n" * empty or " ", text]
            empty = 0
        else:
            empty += 1
    return "".join(out)


def _folded_block(lines: list[str]) -> str:
    """The same of a `>` text: lines that are further in, and the newlines around them, stay as they are."""
    out: list[str] = []
    empty, was_deep = 0, False
    for line in lines:
        if not line:
            empty += 1
            continue
        is_deep = line.startswith((" ", "\t"))
        keeps = out and (is_deep or was_deep)
        out += ["\n" * (empty + 1) if keeps else "\n" * empty or (" " if out else ""), line]
        empty, was_deep = 0, is_deep
    return "".join(out)


def _unquoted(quote: str, lines: list[str]) -> str:
    """What a quoted text says, of its lines without the quotes."""
    if quote == "'":
        return _folded([_BREAKS.sub(r"\1", line) for line in lines]).replace("''", "'")
    pieces: list[str] = []
    empty, joins = 0, True
    for n, line in enumerate(lines):
        text = line.lstrip(" \t") if n else line
        goes_on = n < len(lines) - 1 and (len(text) - len(text.rstrip("\\"))) % 2 == 1
        if goes_on:
            text = text[:-1]
        elif n < len(lines) - 1:
            plain = text.rstrip(" \t")
            escaped = plain != text and (len(plain) - len(plain.rstrip("\\"))) % 2 == 1
            text = text[: len(plain) + 1] if escaped else plain
        if n and not text and not goes_on and n < len(lines) - 1:
            empty += 1
            continue
        pieces += ["\n" * empty or ("" if joins else " "), _ESCAPE.sub(_unescaped, text)]
        empty, joins = 0, goes_on
    return without_surrogates(_paired("".join(pieces)))


def _unescaped(found: re.Match[str]) -> str:
    told = found[1]
    if told[0] in "xuU" and len(told) > 1:
        code = int(told[1:], 16)
        return chr(code) if code < 0x110000 else "\ufffd"
    return _ESCAPES.get(told, told)


def _paired(text: str) -> str:
    """Two halves of a character that were escaped one by one, as JSON does, put together."""
    if text.isascii() or not any("\ud800" <= char <= "\udbff" for char in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
