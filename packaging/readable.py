"""Counts what makes the code hard to read, and fails where there is more of it than `CEILINGS` allows.

    python packaging/readable.py            the counts, and the places of each kind that is over its ceiling
    python packaging/readable.py all        every place

The ceilings may fall and never rise; `AIMS` is where they go.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent

DENSITY: Final = "hundredths of a syntax node per line"
DENSE_FILES: Final = "dense files"
LONG_STATEMENTS: Final = "long statements"
TANGLED_FUNCTIONS: Final = "tangled functions"
NESTED_COMPREHENSIONS: Final = "comprehensions in comprehensions"
NESTED_CONDITIONALS: Final = "conditionals in conditionals"
VAGUE_NAMES: Final = "vague names"
ODD_PHRASES: Final = "odd phrases"
SHORT_DOCSTRINGS: Final = "short docstrings"
AMBIGUOUS_FUNCTIONS: Final = "public functions of one name in several modules"

CEILINGS: dict[str, int] = {
    DENSITY: 720,
    DENSE_FILES: 0,
    LONG_STATEMENTS: 15,
    TANGLED_FUNCTIONS: 30,
    NESTED_COMPREHENSIONS: 0,
    NESTED_CONDITIONALS: 0,
    VAGUE_NAMES: 50,
    ODD_PHRASES: 12,
    SHORT_DOCSTRINGS: 60,
    AMBIGUOUS_FUNCTIONS: 10,
}
AIMS: dict[str, int] = {
    DENSITY: 720,
    DENSE_FILES: 0,
    LONG_STATEMENTS: 15,
    TANGLED_FUNCTIONS: 30,
    NESTED_COMPREHENSIONS: 0,
    NESTED_CONDITIONALS: 0,
    VAGUE_NAMES: 50,
    ODD_PHRASES: 12,
    SHORT_DOCSTRINGS: 60,
    AMBIGUOUS_FUNCTIONS: 10,
}

LARGEST_STATEMENT = 60
"""Syntax nodes of a statement without a body; literals may have more."""
MOST_BRANCHES = 12
"""Cyclomatic complexity of a function."""
SHORTEST_DOCSTRING = 25
DENSEST = 9.0
"""Syntax nodes per line of a file with more than `SMALL_FILE` lines."""
SMALL_FILE = 40

PRONOUNS = {"one", "here", "there", "whose", "much"}
PARTICIPLES = {
    "told",
    "found",
    "said",
    "made",
    "known",
    "taken",
    "kept",
    "given",
    "shown",
    "wanted",
    "asked",
    "came",
}
PHRASES: tuple[str, ...] = (
    r"anew",
    r"as it (?:is|was) (?:said|told)",
    r"as long as",
    r"at hand",
    r"by itself",
    r"comes to",
    r"go on with",
    r"goes on",
    r"in (?:its|their) place",
    r"(?:is|are|was) told",
    r"is said to",
    r"lies in",
    r"makes? of",
    r"nobody",
    r"of its own",
    r"reads? otherwise",
    r"so many",
    r"stands? (?:at|by|for|here|in|on|there)",
    r"stood",
    r"tells? of",
    r"the other way round",
    r"told apart",
    r"otherwise than",
    r"what became of",
    r"what is (?:said|told)",
    r"what (?:it|they) (?:are|is) (?:said|told)",
)
ODD = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b", re.IGNORECASE)
HOOKS = {"add_arguments", "companions", "describe", "is_companion", "main", "read", "run", "sniff"}
"""Functions that several modules have because something calls them by this name."""

_LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Set, ast.Tuple)
_COMPREHENSIONS = (ast.DictComp, ast.GeneratorExp, ast.ListComp, ast.SetComp)
_FUNCTIONS = (ast.AsyncFunctionDef, ast.FunctionDef)
_SIMPLE_STATEMENTS = (
    *(ast.AnnAssign, ast.Assert, ast.Assign, ast.AugAssign, ast.Delete),
    *(ast.Expr, ast.Import, ast.ImportFrom, ast.Raise, ast.Return),
)
_FORKS = (
    ast.Assert,
    ast.ExceptHandler,
    ast.For,
    ast.If,
    ast.IfExp,
    ast.While,
    ast.comprehension,
    ast.match_case,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Something that is hard to read."""

    kind: str
    path: str
    line: int
    detail: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {self.detail}"


def count_nodes(tree: ast.AST) -> int:
    """Return the number of syntax nodes below and at `tree`."""
    return sum(1 for _ in ast.walk(tree))


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of functions inside it."""
    for child in ast.iter_child_nodes(function):
        if isinstance(child, (*_FUNCTIONS, ast.Lambda)):
            continue
        yield child
        yield from own_nodes(child)


def count_branches(function: ast.AST) -> int:
    """Return the cyclomatic complexity of a function."""
    branches = 1
    for node in own_nodes(function):
        if isinstance(node, _FORKS):
            branches += 1
        if isinstance(node, ast.BoolOp):
            branches += len(node.values) - 1
    return branches


def inspect_expression(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (kind, detail) of a nested comprehension or conditional."""
    if isinstance(node, _COMPREHENSIONS):
        inner = (below for child in ast.iter_child_nodes(node) for below in ast.walk(child))
        if any(isinstance(below, _COMPREHENSIONS) for below in inner):
            yield NESTED_COMPREHENSIONS, ""
    parts = (node.body, node.orelse, node.test) if isinstance(node, ast.IfExp) else ()
    if any(isinstance(part, ast.IfExp) for part in parts):
        yield NESTED_CONDITIONALS, ""


def inspect_name(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) of a variable or an argument whose name says nothing."""
    name = ""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        name = node.id
    if isinstance(node, ast.arg):
        name = node.arg
    if name in PRONOUNS | PARTICIPLES:
        yield VAGUE_NAMES, name


def inspect_size(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (kind, detail) of a statement or a function that is too large."""
    if isinstance(node, _SIMPLE_STATEMENTS) and not isinstance(
        getattr(node, "value", None), _LITERALS
    ):
        nodes = count_nodes(node)
        if nodes > LARGEST_STATEMENT:
            yield LONG_STATEMENTS, f"{nodes} nodes"
    if isinstance(node, _FUNCTIONS):
        branches = count_branches(node)
        if branches > MOST_BRANCHES:
            yield TANGLED_FUNCTIONS, f"{node.name}: {branches} branches"


def inspect_texts(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield (line, kind, detail) of docstrings, notes below assignments and other texts."""
    notes: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for place, statement in enumerate(body):
            text = getattr(statement, "value", None) if isinstance(statement, ast.Expr) else None
            if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
                continue
            notes.add(id(text))
            yield from _odd(statement.lineno, text.value)
            is_docstring = place == 0 and isinstance(node, (*_FUNCTIONS, ast.ClassDef))
            if is_docstring and len(text.value) < SHORTEST_DOCSTRING:
                yield statement.lineno, SHORT_DOCSTRINGS, text.value
    for node in ast.walk(tree):
        if (
            not isinstance(node, ast.Constant)
            or not isinstance(node.value, str)
            or id(node) in notes
        ):
            continue
        if " " in node.value:
            yield from _odd(node.lineno, node.value)


def _odd(line: int, text: str) -> Iterator[tuple[int, str, str]]:
    match = ODD.search(text)
    if match:
        yield line, ODD_PHRASES, f"{match[0]!r} in {' '.join(text.split())[:100]!r}"


def inspect_module(path: str, source: str) -> Iterator[Place]:
    """Yield every place of one file that is hard to read."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for inspect in (inspect_expression, inspect_name, inspect_size):
            for kind, detail in inspect(node):
                yield Place(kind, path, getattr(node, "lineno", 0), detail)
    for line, kind, detail in inspect_texts(tree):
        yield Place(kind, path, line, detail)
    lines = source.count("\n")
    density = count_nodes(tree) / max(lines, 1)
    if lines > SMALL_FILE and density > DENSEST:
        yield Place(DENSE_FILES, path, 1, f"{density:.1f} nodes per line")


def inspect_page(path: str, text: str) -> Iterator[Place]:
    """Yield the odd phrases of a page of documentation, one per line at most."""
    for number, line in enumerate(text.splitlines(), 1):
        for _, kind, detail in _odd(number, line):
            yield Place(kind, path, number, detail)


def find_ambiguous(sources: dict[str, str]) -> Iterator[Place]:
    """Yield public functions whose name stands for something else in another module."""
    modules: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for path, source in sources.items():
        for node in ast.parse(source).body:
            if (
                isinstance(node, _FUNCTIONS)
                and not node.name.startswith("_")
                and node.name not in HOOKS
            ):
                modules[node.name].append((path, node.lineno))
    for name, places in sorted(modules.items()):
        if len({path for path, _ in places}) > 1:
            others = ", ".join(path for path, _ in places[1:])
            yield Place(AMBIGUOUS_FUNCTIONS, *places[0], f"{name}, also in {others}")


def measure(root: Path = ROOT) -> tuple[dict[str, int], list[Place]]:
    """Return the count of each kind, and every place, of the program and of its pages."""
    sources = {
        str(path.relative_to(root)): path.read_text("utf-8")
        for path in sorted(root.glob("inspector/**/*.py"))
    }
    pages = [*sorted(root.glob("*.md")), *sorted(root.glob("docs/**/*.md"))]
    places = [place for path, source in sources.items() for place in inspect_module(path, source)]
    for page in pages:
        places += inspect_page(str(page.relative_to(root)), page.read_text("utf-8"))
    places += find_ambiguous(sources)
    counts = Counter(place.kind for place in places)
    nodes = sum(count_nodes(ast.parse(source)) for source in sources.values())
    lines = sum(source.count("\n") for source in sources.values())
    counts[DENSITY] = round(100 * nodes / max(lines, 1))
    return {kind: counts[kind] for kind in CEILINGS}, places


def main(arguments: Sequence[str]) -> int:
    """Print the counts, and the places of what is over its ceiling. Return 1 if anything is."""
    counts, places = measure()
    over = {kind for kind, count in counts.items() if count > CEILINGS[kind]}
    for place in places:
        if "all" in arguments or place.kind in over:
            print(place)
    for kind, count in counts.items():
        print(f"{kind:50} {count:6,}  at most {CEILINGS[kind]:6,}, aim {AIMS[kind]:4,}")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
