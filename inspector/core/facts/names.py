"""Find paths, addresses, identifiers and numbers in a text, by patterns.

Names that carry no information are left out: line numbers, times, counts of tests, ids of calls, round numbers, files
that every project has, and names made of everyday words of programming (`file_path`, `isEmpty`).
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
    """Yield the paths, URLs, identifiers and numbers of a text, in the order of their first appearance. O(text).

    Args:
        text: The text.
        printed: True for the output or the arguments of a tool, in which a number is a fact only if it is long,
            precise or labelled.
    """
    text = strip_gutters(text)
    places: dict[str, list[int]] = {}
    # No name contains white space; the surrounding text matters for numbers only.
    for run in dict.fromkeys(text.split()):
        for fact, start, end in _find_cached(run) if len(run) <= _LONG else _find(run):
            if fact.kind != "number":
                yield fact
                continue
            if not places:
                places = _find_numbered_runs(text)
            is_incidental = all(
                _is_incidental(text, start=at + start, end=at + end, printed=printed)
                for at in places[run]
            )
            if not is_incidental:
                yield fact


def _find_numbered_runs(text: str) -> dict[str, list[int]]:
    """Return the positions of each run of characters that contains a digit."""
    places: dict[str, list[int]] = {}
    for match in _NUMBERED.finditer(text):
        places.setdefault(match.group(), []).append(match.start())
    return places


def _is_incidental(text: str, start: int, end: int, printed: bool) -> bool:
    """Is the number at `start` a count, a line number, or one of the many numbers that programs print?"""
    if _COUNTED.match(text, end) or _LINE.search(text[max(0, start - 16) : start]):
        return True
    return printed and _is_any(text, start, end)


_LONG = 200
"""Longest run that is cached, in characters: longer runs hardly occur twice."""


def _find(run: str) -> tuple[tuple[Fact, int, int], ...]:
    """Return (fact, start, end) of the names in a run of characters without white space."""
    if not _MAY_NAME.search(run):
        return ()
    matches = ((_read_name(run, match), match) for match in _NAME.finditer(run))
    return tuple((fact, match.start(), match.end()) for fact, match in matches if fact is not None)


def _read_name(run: str, match: re.Match[str]) -> Fact | None:
    """Return the fact of a match; None for everyday names and numbers, which are not facts."""
    kind = match.lastgroup
    name = match.group().rstrip(".-")
    if kind == "path":
        path = _path(name)
        return Fact("path", path) if path else None
    if kind == "url":
        address = name.partition("{")[0]
        is_schema = "www.w3.org/" in address or "schema" in address
        return None if is_schema else Fact("url", address)
    if kind == "identifier":
        is_common = _is_label(run, match) or _ID.match(name) or _is_everyday(name)
        return None if is_common else Fact("identifier", name)
    return Fact("number", name) if _is_distinctive(name) else None


_find_cached = lru_cache(maxsize=32_768)(_find)
"""Cached, because a session repeats the same few tens of thousands of words."""


def _is_label(run: str, match: re.Match[str]) -> bool:
    """Is the name a tag (`<name>`), a key in JSON (`"name":`) or a template field (`{/name}`) rather than content?"""
    before = run[: match.start()][-1:]
    after = run[match.end() : match.end() + 2]
    is_tag = before in ("<", "/") and after[:1] in (">", "}")
    return is_tag or (before == '"' and after == '":')


def strip_gutters(text: str) -> str:
    """Return the text without the line numbers that tools print before lines."""
    return _GUTTER.sub(lambda match: f"{match['file'] or ''} ", unescaped(text))


def unescaped(text: str) -> str:
    """Return the text with escaped line breaks and tabs (`\\n`, `\\t`, as in JSON) replaced by two spaces each."""
    return text.replace("\\n", "  ").replace("\\t", "  ")


def _path(name: str) -> str:
    """Return a name as a path, without surrounding text; empty if the name is not a path.

    Alternatives (`Edit/Write`) and the names of repositories and branches are not paths.
    """
    path = _strip_path(name)
    if "/" not in name:
        return "" if path.lower() in word_list("everywhere") else path
    return path if _is_file_path(path) else ""


def _strip_path(name: str) -> str:
    """Return a path without Chinese words in front (`看src/a.py`), and without the `a/` of a diff."""
    first = name.partition("/")[0]
    ascii_end = re.search(r"[!-~]+$", first) if not first.isascii() else None
    if ascii_end:
        return name[ascii_end.start() :]
    if first in ("a", "b") and name.count("/") > 1:
        return name[2:]
    return name


def _is_file_path(path: str) -> bool:
    """Does a name with a slash look like the path of one of the user's files or folders?"""
    parts = path.split("/")
    if path.startswith(("/dev/", "/bin/", "/usr/bin/", "/proc/")):
        return False
    has_extension = re.search(r"\w\.[A-Za-z]\w{0,9}$", parts[-1]) is not None
    if path[0] in "/~" or path.startswith("../"):
        return len(parts) > (2 if has_extension else 3)
    has_gap = any(not part.strip(".") and part not in (".", "..") for part in parts)
    if has_gap or _HOST.match(path):
        return False
    return has_extension or (path.startswith("./") and len(parts) > 2)


def _is_everyday(name: str) -> bool:
    """Is the name made of at most three words that are common in any program?"""
    parts = _PART.findall(name)
    if not parts or _HASH.fullmatch(name):
        return False
    words = [part.lower() for part in parts]
    if max(map(len, words)) < 3:
        return True
    return len(words) < 4 and all(map(_is_everyday_word, words))


def _is_everyday_word(word: str) -> bool:
    known_words = word_list("everyday")
    return len(word) == 1 or word in known_words or word.removesuffix("s") in known_words


def _is_distinctive(number: str) -> bool:
    """Has the number at least three significant digits, and is it neither round nor a year?"""
    digits = number.rstrip("%").replace(",", "")
    if "." in digits:
        whole, _, rest = digits.partition(".")
        if rest.strip("0"):
            return len((whole + rest).replace(".", "").strip("0")) >= 3
        digits = whole
    if len(digits) < 4 or len(digits.strip("0")) < 3:
        return False
    is_year = len(digits) == 4 and digits[:2] in ("19", "20")
    return not is_year and digits not in _POWERS


def _is_any(text: str, start: int, end: int) -> bool:
    """Is the number one of the many that programs print, such as a size, a width or an offset?"""
    digits = text[start:end]
    before = text[max(0, start - 12) : start]
    if re.search(r"\d[ ,;]{1,2}-?$", before) or re.match(r"[ ,;]{1,2}-?\d", text[end : end + 4]):
        return True  # one of a row of numbers
    if "," in digits or digits.count(".") > 1:
        return False
    if "." in digits:
        return len(digits.strip("%0.").replace(".", "")) < 4
    if len(digits) >= 8:
        return False
    is_colour = before.endswith("#") and len(digits) == 6
    return is_colour or not _CALLED.search(before)


_CALLED = rule("names.called")
_POWERS = frozenset(str(2**n) for n in range(8, 33)) | {"8080", "5432", "3306", "6379"}
