"""Paths, addresses, identifiers and numbers in a text, by patterns.

What says nothing by itself is left out: line numbers, times, counts of tests, ids of calls; names that are made of
everyday words of programming (`file_path`, `isEmpty`) and files that every project has; round numbers.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from inspector.core.facts.fact import Fact
from inspector.core.facts.rules import rule, word_list

_NAME, _MAY_NAME, _NUMBERED = rule("names.name"), rule("names.may_name"), rule("names.numbered")
_GUTTER, _ID, _PART = rule("names.gutter"), rule("names.id"), rule("names.part")
_HASH, _HOST = rule("names.hash"), rule("names.host")
_LINE = rule("names.line")
_COUNTED = rule("names.counted")


def names(text: str, printed: bool = False) -> Iterator[Fact]:
    """Paths, URLs, identifiers and numbers, in the order in which they are first read. O(text). `printed`: a program
    printed or reads it, so that a number says little unless it is long, exact or called something."""
    text = plain(text)
    places: dict[str, list[int]] = {}
    for run in dict.fromkeys(text.split()):  # no name holds white space, and only of a number counts what lies beyond
        for fact, start, end in _in_run(run) if len(run) <= _LONG else _find(run):
            if fact.kind == "number":
                if not places:
                    for match in _NUMBERED.finditer(text):
                        places.setdefault(match.group(), []).append(match.start())
                if all(
                    _COUNTED.match(text, at + end)
                    or _LINE.search(text[max(0, at + start - 16) : at + start])
                    or (printed and _is_any(text, at + start, at + end))
                    for at in places[run]
                ):
                    continue
            yield fact


_LONG = 200
"""Characters: a longer run is hardly met twice."""


def _find(run: str) -> tuple[tuple[Fact, int, int], ...]:
    """The names in a run of characters without white space, and where they stand in it; of a number, what it may be."""
    if not _MAY_NAME.search(run):
        return ()
    found = list[tuple[Fact, int, int]]()
    for match in _NAME.finditer(run):
        kind, name = match.lastgroup, match.group().rstrip(".-")
        fact: Fact | None = None
        if kind == "path":
            fact = Fact("path", path) if (path := _path(name)) else None
        elif kind == "url":
            name = name.partition("{")[0]
            fact = Fact("url", name) if "www.w3.org/" not in name and "schema" not in name else None
        elif kind == "identifier":
            if not (_is_label(run, match) or _ID.match(name) or _is_everyday(name)):
                fact = Fact("identifier", name)
        elif _tells_much(name):
            fact = Fact("number", name)
        if fact is not None:
            found.append((fact, match.start(), match.end()))
    return tuple(found)


_in_run = lru_cache(maxsize=32_768)(_find)
"""A session says the same few ten thousand words again and again."""


def _is_label(run: str, match: re.Match[str]) -> bool:
    """A tag (`<name>`), a key in JSON (`"name":`), a place in a template (`{/name}`): what is said stands beside it."""
    before, after = run[: match.start()][-1:], run[match.end() : match.end() + 2]
    return (before in ("<", "/") and after[:1] in (">", "}")) or (before == '"' and after == '":')


def plain(text: str) -> str:
    """Without what tools put before the lines that they show."""
    return _GUTTER.sub(lambda match: f"{match['file'] or ''} ", unescaped(text))


def unescaped(text: str) -> str:
    """A text within a text has its lines and words apart."""
    return text.replace("\\n", "  ").replace("\\t", "  ")


def _path(found: str) -> str:
    """The path, or nothing where it is none: alternatives (`Edit/Write`), names of repositories and branches."""
    first, slash, _ = found.partition("/")
    if first and not first.isascii() and (cut := re.search(r"[!-~]+$", first)):
        found = found[cut.start() :]  # 看src/a.py
    found = found[2:] if first in ("a", "b") and found.count("/") > 1 else found  # a head in a diff
    parts = found.split("/")
    if parts[-1].lower() in word_list("everywhere") and len(parts) == 1:
        return ""
    if not slash:
        return found
    if found.startswith(("/dev/", "/bin/", "/usr/bin/", "/proc/")):
        return ""
    has_extension = re.search(r"\w\.[A-Za-z]\w{0,9}$", parts[-1]) is not None
    if found[0] in "/~" or found.startswith("../"):
        return found if len(parts) > (2 if has_extension else 3) else ""
    if _HOST.match(found) or any(not part.strip(".") and part not in (".", "..") for part in parts):
        return ""
    if has_extension:
        return found
    return found if found.startswith("./") and len(parts) > 2 else ""


def _is_everyday(name: str) -> bool:
    """At most three everyday words: any program may have that name."""
    parts = _PART.findall(name)
    if not parts or _HASH.fullmatch(name):
        return False
    words = [part.lower() for part in parts]
    known = word_list("everyday")
    everyday = (len(word) == 1 or word in known or word.removesuffix("s") in known for word in words)
    return (len(words) < 4 and all(everyday)) or max(map(len, words)) < 3


def _tells_much(number: str) -> bool:
    """Not round, not a year, at least three digits that say something."""
    digits = number.rstrip("%").replace(",", "")
    if "." in digits:
        whole, _, rest = digits.partition(".")
        if rest.strip("0"):
            return len((whole + rest).replace(".", "").strip("0")) >= 3
        digits = whole
    said = digits.strip("0")
    return (
        len(digits) > 3
        and len(said) >= 3
        and not (len(digits) == 4 and digits[:2] in ("19", "20"))
        and digits not in _POWERS
    )


def _is_any(text: str, start: int, end: int) -> bool:
    """One of the many numbers that programs print: sizes, widths, places."""
    digits, before = text[start:end], text[max(0, start - 12) : start]
    if re.search(r"\d[ ,;]{1,2}-?$", before) or re.match(r"[ ,;]{1,2}-?\d", text[end : end + 4]):
        return True  # one of a row of numbers
    if "," in digits or digits.count(".") > 1:
        return False
    if "." in digits:
        return len(digits.strip("%0.").replace(".", "")) < 4
    return len(digits) < 8 and not (_CALLED.search(before) and not (before.endswith("#") and len(digits) == 6))


_CALLED = rule("names.called")
_POWERS = frozenset(str(2**n) for n in range(8, 33)) | {"8080", "5432", "3306", "6379"}
