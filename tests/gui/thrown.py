"""Exceptions thrown in the middle of what Qt calls: in place of any method, without changing it."""

import builtins
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any


class Thrown(Exception):
    """By a test, where nobody expects it."""


def inner(method: Callable[..., Any]) -> FunctionType:
    """A method as it was written, whatever stands around it."""
    while (within := getattr(method, "__wrapped__", None)) is not None:
        method = within
    assert isinstance(method, FunctionType)
    return method


def _raises(*_arguments: object, **_named: object) -> None:
    raise thrown_here()  # type: ignore[name-defined]  # noqa: F821  # a built-in while methods are to throw


@contextmanager
def thrown_in(*methods: Callable[..., Any]) -> Iterator[list[str]]:
    """Every call of them raises. Yields the names of those that did. Only their code is another for that long: a
    trace function would be asked at every call of the whole program."""
    names, before = list[str](), {one: one.__code__ for one in map(inner, methods)}

    def thrown_here() -> Thrown:
        code = sys._getframe(1).f_code
        names.append(code.co_name)
        return Thrown(code.co_qualname)

    builtins.thrown_here = thrown_here  # type: ignore[attr-defined]
    for one, code in before.items():
        one.__code__ = _raises.__code__.replace(
            co_name=code.co_name, co_qualname=code.co_qualname, co_freevars=code.co_freevars
        )
    try:
        yield names
    finally:
        for one, code in before.items():
            one.__code__ = code
