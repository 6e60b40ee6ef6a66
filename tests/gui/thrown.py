"""Exceptions thrown in the middle of what Qt calls: in place of any method, without changing it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any


class Thrown(Exception):
    """By a test, where nobody expects it."""


def code_of(method: Callable[..., Any]) -> CodeType:
    """Of a method as it was written, whatever stands around it."""
    while (inner := getattr(method, "__wrapped__", None)) is not None:
        method = inner
    code = getattr(method, "__code__", None)
    assert isinstance(code, CodeType)
    return code


@contextmanager
def thrown_in(*methods: Callable[..., Any]) -> Iterator[list[str]]:
    """Every call of them raises at its first line. Yields the names of those that did."""
    codes, names = {code_of(method) for method in methods}, list[str]()

    def throw(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "call" and frame.f_code in codes:
            names.append(frame.f_code.co_name)
            raise Thrown(frame.f_code.co_qualname)
        return None

    def look(frame: FrameType, event: str, argument: Any) -> None:
        """Python takes a trace function away that raises: here it comes back."""
        if sys.gettrace() is None:
            sys.settrace(throw)

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(throw)
    sys.setprofile(look)
    try:
        yield names
    finally:
        sys.setprofile(before[1])  # first, or it would bring the other back
        sys.settrace(before[0])
