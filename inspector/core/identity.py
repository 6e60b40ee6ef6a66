"""A value as a key by what it is, not by what it holds: for what is compared often and has no hash, or a costly one."""

from typing import Any


class SameObject:
    """Equal to another that holds the very same object. Holding it keeps its identity from being used again."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)
