"""Code and its language: read the language from a file name or a fence, split a text at fences, highlight code.

pygments highlights code on a worker thread, up to a limit; code beyond the limit stays plain. This file needs no Qt.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Literal, NamedTuple, TypeAlias

from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String

from inspector.core.heavy import load_module

Kind: TypeAlias = Literal["key", "string", "number", "word", "added", "removed", "place", "comment"]
"""The kind of a coloured span in a line; the theme assigns each kind a colour."""
MOST_CODE = 300_000
"""Maximum number of characters that are highlighted, which takes about a second."""
LONG_CODE = 2_000
"""Maximum number of characters of a line that is highlighted.

Longer lines are data, and highlighting may take quadratic time.
"""
_LANGUAGES = """
bash sh zsh bats ksh .bashrc .zshrc .profile shell|batch bat cmd|c h|clojure clj cljs|cmake cmakelists.txt
cpp cc cxx hpp hh c++|csharp cs c#|css|dart|diff patch|docker dockerfile|elixir ex exs|erlang erl|fish|fsharp fs
go golang|graphql gql|groovy gradle jenkinsfile|haskell hs|hcl tf tfvars terraform|html htm vue svelte|ini cfg conf
java|javascript js mjs cjs jsx|json jsonc json5 ipynb|julia jl|kotlin kt kts|less|lua|make mk makefile|markdown md mdx
nix|objective-c m mm|ocaml ml mli|perl pl pm|php|powershell ps1 psm1|properties env .env|protobuf proto
python py pyi pyw python3|ruby rb gemfile rakefile|r|rust rs|scala sc|scss|sql|swift|toml|typescript ts tsx mts cts
xml svg xsd plist|yaml yml|zig
"""
_NAMES = {
    name: names.split()[0]
    for names in _LANGUAGES.replace("\n", "|").split("|")
    for name in names.split()
}
"""pygments' name of a language, by that name, by file extension and by whole file name."""
_KINDS: dict[Any, Kind] = {
    Comment: "comment",
    Comment.Preproc: "place",
    Generic.Deleted: "removed",
    Generic.Heading: "place",
    Generic.Inserted: "added",
    Generic.Subheading: "place",
    Keyword: "word",
    Name.Class: "key",
    Name.Decorator: "key",
    Name.Function: "key",
    Name.Tag: "key",
    Number: "number",
    Operator.Word: "word",
    String: "string",
}
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n`]*)$", re.MULTILINE)
_NUMBER = re.compile(r"^ *\d+(?:→|\t|: )", re.MULTILINE)
"""Pattern of the line number that tools write before each line of a file."""


class ColouredSpan(NamedTuple):
    """The part `text[start:end]` of a text, and the kind of token in it."""

    start: int
    end: int
    kind: Kind


class CodeStretch:
    """A text in one language. `spans` is None until `find` has run."""

    def __init__(self, text: str, language: str) -> None:
        self._coming = _spans(text, language)
        self.spans: tuple[ColouredSpan, ...] | None = None
        self.is_complete = False
        """True if there are no more spans to find."""

    @property
    def coloured_to(self) -> int:
        """Index in the text up to which spans were found."""
        return self.spans[-1].end if self.spans else 0

    def find(self, stopped: Callable[[], bool], until: int = MOST_CODE) -> None:
        """Find further spans, starting where the last call ended. May run on any thread, but only on one at a time.

        Args:
            stopped: If it returns True, the search ends for good.
            until: Index in the text after which the call ends.
        """
        found = list(self.spans or ())
        for span in self._coming:
            if span is not None:
                found.append(span)
                if span.end > until:
                    break
            elif stopped():
                self.is_complete = True
                break
        else:
            self.is_complete = True
        self.spans = tuple(found)

    def between(self, start: int, end: int) -> Iterator[ColouredSpan]:
        """Yield the spans between two indices of the text, in order and cut to the range."""
        spans = self.spans or ()
        for index in range(bisect_right(spans, start, key=lambda span: span.end), len(spans)):
            span = spans[index]
            if span.start >= end:
                return
            yield ColouredSpan(max(start, span.start), min(end, span.end), span.kind)


def language_of(name: str) -> str:
    """Return the language named by a file name, a path or the first word of a fence; empty if unknown."""
    name = PurePath(name[-300:].replace("\\", "/")).name.lower()
    return _NAMES.get(name) or _NAMES.get(name.rpartition(".")[2], "")


def has_line_numbers(text: str) -> bool:
    """Return True if most of the first lines begin with their line number."""
    head = text[:4_000].split("\n")[:40]
    return 2 * sum(_NUMBER.match(line) is not None for line in head) > len(head)


def split_fences(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the stretches inside and outside of fences.

    Returns:
        Each stretch with its language: empty if the fence names none, None outside of fences.
    """
    position = 0
    opened = ""
    language = ""
    for match in _FENCE.finditer(text):
        sign, info = match.groups()
        if not opened:
            yield text[position : match.end() + 1], None
            position = match.end() + 1
            opened = sign
            language = language_of((info.split() or [""])[0].strip("{}."))
        elif sign.startswith(opened) and not info.strip():
            yield text[position : match.start()], language
            position = match.start()
            opened = ""
    yield text[position:], language if opened else None


_BETWEEN_LOOKS = 32
"""Number of tokens between two checks of whether to stop."""


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    try:
        return load_module("pygments.lexers").find_lexer_class_by_name(language)(
            stripnl=False, ensurenl=False
        )
    except ValueError:  # there is no lexer of that name
        return None


def _spans(text: str, language: str) -> Iterator[ColouredSpan | None]:
    """Yield the spans of the first MOST_CODE characters, except long lines and the line numbers of tools.

    Also yields None regularly, so that the caller can stop even if there is no span.
    """
    lexer = _lexer(language)
    lines = list(_code_lines(text))
    if lexer is None or not lines:
        return
    starts = [0]
    length = 0
    for first, last in lines:
        length += last - first
        starts.append(length)
    tokens = lexer.get_tokens_unprocessed("".join(text[first:last] for first, last in lines))
    for number, (position, token, value) in enumerate(tokens):
        if not number % _BETWEEN_LOOKS:
            yield None
        kind = _kind(token)
        if kind is None:
            continue
        end = position + len(value)
        line = bisect_right(starts, position) - 1
        while line < len(lines) and starts[line] < end:
            line_start, _ = lines[line]
            shift = line_start - starts[line]
            first = max(position, starts[line])
            last = min(end, starts[line + 1])
            yield ColouredSpan(first + shift, last + shift, kind)
            line += 1


def _code_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end index of each line of code."""
    counted = has_line_numbers(text)
    position = 0
    while position < min(len(text), MOST_CODE):
        end = text.find("\n", position) + 1 or len(text)
        number = _NUMBER.match(text, position, end) if counted else None
        if (number or not counted) and end - position <= LONG_CODE:
            yield number.end() if number else position, end
        position = end


@lru_cache(maxsize=1_000)
def _kind(token: Any) -> Kind | None:
    while token is not None:
        if token in _KINDS:
            return _KINDS[token]
        token = token.parent
    return None
