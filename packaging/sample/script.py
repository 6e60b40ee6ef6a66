"""The story of the demonstration session as a text file: who says what, which tool is called with what.

A line that begins with `@` starts a scene; what follows until the next one is its text. `@call` starts a tool call,
`@and` a call in parallel to the one before. Other lines that begin with `@` are text.
"""

from collections.abc import Iterator
from dataclasses import dataclass

KINDS = frozenset(
    "title user queued edited pause apierror compact think say call and agentend".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Scene:
    """One `@` of the story: `kind` is the first word, `words` the rest of that line, `text` the lines below."""

    kind: str
    words: str
    text: str


def read_story(text: str) -> list[Scene]:
    """All scenes in order."""
    return list(_scenes(text))


def _scenes(text: str) -> Iterator[Scene]:
    head, lines = "", list[str]()
    for line in text.splitlines():
        if line.startswith("@") and line[1:].partition(" ")[0] in KINDS:
            if head:
                yield _scene(head, lines)
            head, lines = line[1:], []
        else:
            lines.append(line)
    yield _scene(head, lines)


def _scene(head: str, lines: list[str]) -> Scene:
    kind, _, words = head.partition(" ")
    return Scene(kind, words.strip(), "\n".join(lines).strip("\n"))


def read_bundle(text: str) -> dict[str, str]:
    """Several texts in one file: `=== name` stands above each."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith("=== "):
            lines = found.setdefault(line[4:], [])
        else:
            lines.append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def write_bundle(texts: dict[str, str]) -> str:
    """What `read_bundle` reads."""
    return "\n".join(f"=== {name}\n{text}" for name, text in texts.items())
