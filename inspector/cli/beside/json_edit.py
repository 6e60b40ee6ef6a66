"""Change a JSON text and leave everything else unchanged: undoing a change restores the original text."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined] # the decoder of strings, with their end
from typing import Any

_BLANK = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^\s,\]}]+")
_LAST_INDENT = re.compile(r"\n([ \t]*)[^\n]*\Z")


@dataclass(frozen=True, slots=True)
class _Node:
    """A value with its position in the text. Items of objects are labelled by their keys."""

    value: Any
    start: int
    end: int
    items: Sequence["_Item"] = ()


@dataclass(frozen=True, slots=True)
class _Item:
    label: str
    start: int
    """Position where the item begins; in an object, that of its key."""
    node: _Node


def edit_json(text: str, new: Any) -> str:
    """Return a JSON text that holds `new`, in which only the differing members and elements are changed.

    Args:
        text: Valid JSON, or only white space.
        new: The new value.
    """
    if not text.strip():
        return json.dumps(new, indent=2, ensure_ascii=False) + "\n"
    node = _read_node(text, _skip(text, 0))
    edited = text[: node.start] + _Editor(text).edit(node, new, "") + text[node.end :]
    if json.loads(edited) == new:
        return edited
    return json.dumps(new, indent=2, ensure_ascii=False) + "\n"  # a key occurs twice


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _read_node(text: str, start: int) -> _Node:
    sign = text[start]
    if sign == '"':
        value, end = scanstring(text, start + 1)
        return _Node(value, start, end)
    if sign in "{[":
        return _read_container(text, start)
    match = _SCALAR.match(text, start)
    assert match is not None  # the text is valid
    return _Node(json.loads(match[0]), start, match.end())


def _read_container(text: str, start: int) -> _Node:
    is_object = text[start] == "{"
    items: list[_Item] = []
    position = _skip(text, start + 1)
    while text[position] not in "}]":
        begin = position
        label = ""
        if is_object:
            label, position = scanstring(text, position + 1)
            position = _skip(text, _skip(text, position) + 1)  # the colon
        node = _read_node(text, position)
        items.append(_Item(label, begin, node))
        position = _skip(text, node.end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    values = [item.node.value for item in items]
    value = {item.label: item.node.value for item in items} if is_object else values
    return _Node(value, start, end=position + 1, items=items)


class _Editor:
    """Writes the values of one text with their changes."""

    def __init__(self, text: str) -> None:
        self._text = text
        match = re.search(r"\n([ \t]+)", text)
        self._unit = match[1] if match else "  "

    def edit(self, node: _Node, new: Any, indent: str) -> str:
        """Return the text of `new`, which replaces the value of `node`."""
        if node.value == new:
            return self._text[node.start : node.end]
        if isinstance(node.value, dict) and isinstance(new, dict):
            kept_items = [item for item in node.items if item.label in new]
            added = [name for name in new if name not in node.value]
            members = [
                self._write_member(name, new[name], self._indent(node, indent)) for name in added
            ]
            return self._join(
                node, kept_items, [new[item.label] for item in kept_items], members, indent
            )
        if isinstance(node.value, list) and isinstance(new, list):
            kept_items, rest = _match_elements(node.items, new)
            elements = [self._write(value, self._indent(node, indent)) for value in rest]
            return self._join(
                node, kept_items, [item.node.value for item in kept_items], elements, indent
            )
        return self._write(new, indent)

    def _indent(self, node: _Node, indent: str) -> str:
        """Return the indentation of the items of a container."""
        if not node.items:
            return indent + self._unit
        match = _LAST_INDENT.search(self._text[node.start : node.items[0].start])
        return match[1] if match else indent

    def _join(
        self,
        node: _Node,
        kept_items: Sequence[_Item],
        values: Sequence[Any],
        added: Iterable[str],
        indent: str,
    ) -> str:
        """Return the text of a container with some of its items, followed by added ones."""
        inner = self._indent(node, indent)
        pieces: list[str] = []
        for item, value in zip(kept_items, values, strict=True):
            if pieces:
                pieces.append(self._separator(node, item))
            pieces.append(self._text[item.start : item.node.start])
            pieces.append(self.edit(item.node, value, inner))
        separator = f",\n{inner}" if self._is_long(node) else ", "
        for written in added:
            if pieces:
                pieces.append(separator)
            pieces.append(written)
        return self._enclose(node, "".join(pieces), indent)

    def _separator(self, node: _Node, item: _Item) -> str:
        """Return the text between an item and the previous one."""
        before = node.items[node.items.index(item) - 1]
        return self._text[before.node.end : item.start]

    def _is_long(self, node: _Node) -> bool:
        """Does the container have one line per item?"""
        if not node.items:
            return True
        return "\n" in self._text[node.start : node.items[0].start]

    def _enclose(self, node: _Node, body: str, indent: str) -> str:
        """Put the items of a container into its brackets."""
        opening = self._text[node.start]
        closing = self._text[node.end - 1]
        if not body:
            return opening + closing
        if not node.items:
            inner = self._indent(node, indent)
            return f"{opening}\n{inner}{body}\n{indent}{closing}"
        first, last = node.items[0], node.items[-1]
        start = self._text[node.start : first.start]
        end = self._text[last.node.end : node.end]
        return start + body + end

    def _write_member(self, name: str, value: Any, indent: str) -> str:
        return f"{json.dumps(name, ensure_ascii=False)}: {self._write(value, indent)}"

    def _write(self, value: Any, indent: str) -> str:
        lines = json.dumps(value, indent=self._unit, ensure_ascii=False)
        return lines.replace("\n", f"\n{indent}")


def _match_elements(
    items: Sequence[_Item], new: Sequence[Any]
) -> tuple[list[_Item], Sequence[Any]]:
    """Return the items that `new` begins with, in order, and the elements of `new` that follow them."""
    kept_items: list[_Item] = []
    for item in items:
        if len(kept_items) < len(new) and item.node.value == new[len(kept_items)]:
            kept_items.append(item)
    return kept_items, new[len(kept_items) :]
