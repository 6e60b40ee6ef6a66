"""An object whose fields were flattened with dots (`message.tool_calls.0.id`), taken apart when it is looked at.

A call tells the whole conversation so far: what is the same as in the call before is compared as it was written, and
only the rest is read.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from inspector.core.formats.traces.span import parsed

_DEEPEST = 12
"""Words of a name."""


class Flat(dict[str, Any]):
    """By the names with the dots."""

    def nested(self) -> dict[str, Any]:
        """Objects in objects, and lists where all the names are numbers."""
        found: dict[str, Any] = {}
        is_listed = False
        for name, value in self.items():
            path, last, is_numbered = _parted(name)
            here = found
            for word in path:
                inner = here.get(word)
                if type(inner) is not dict:
                    inner = here[word] = {}
                here = inner
            here[last] = value
            is_listed = is_listed or is_numbered
        return _unpacked(_listed(found) if is_listed else found)


@lru_cache(maxsize=1 << 12)
def _parted(name: str) -> tuple[Sequence[str], str, bool]:
    """The words before the last, the last, and whether any is a number. Most names come again."""
    *path, last = words = name.split(".", _DEEPEST)
    return path, last, any(map(is_number, words))


def is_number(word: str) -> bool:
    """Is it the place of an item?"""
    return word.isascii() and word.isdigit()


def _listed(tree: dict[str, Any]) -> Any:
    for key, inner in tree.items():
        if type(inner) is dict:
            tree[key] = _listed(inner)
    if all(map(is_number, tree)):
        return [one for _, one in sorted(tree.items(), key=lambda pair: int(pair[0][:18]))]  # 10 comes after 9
    return tree


def _unpacked(message: dict[str, Any]) -> dict[str, Any]:
    """OpenLLMetry writes content that is a list of blocks as its JSON."""
    content = message.get("content")
    blocks = parsed(content) if isinstance(content, str) and content.startswith("[") else None
    if isinstance(blocks, list) and blocks and all(isinstance(one, dict) and "type" in one for one in blocks):
        return {**message, "content": blocks}
    return message
