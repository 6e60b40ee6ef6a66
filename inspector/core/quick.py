"""`@quick` makes the creation of instances of a frozen dataclass twice as fast.

The generated `__init__` of a frozen dataclass looks every field up by name (`object.__setattr__`). A transcript makes
some of these values a hundred thousand times, so for them the same `__init__` writes the slots directly. Everything
else (equality, `replace`, the refusal of changes) stays the dataclass's own.
"""

from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

C = TypeVar("C", bound=type)


def quick(cls: C) -> C:
    """Replace the `__init__` of a dataclass that has `frozen=True, slots=True` and no `__post_init__`."""
    names: dict[str, Any] = {}
    parameters = [_parameter(field, names) for field in fields(cls) if field.init]
    lines = [_line(field, names, cls) for field in fields(cls)]
    source = f"def __init__(self, {', '.join(parameters)}):\n  " + "\n  ".join(lines)
    exec(source, names)  # the source holds only names of fields, as in `dataclass` itself
    cls.__init__ = names["__init__"]  # type: ignore[misc]  # the class itself, not an instance of it
    return cls


def _parameter(field: "Field[Any]", names: dict[str, Any]) -> str:
    if field.default is MISSING:
        return field.name
    names[f"default_{field.name}"] = field.default
    return f"{field.name}=default_{field.name}"


def _line(field: "Field[Any]", names: dict[str, Any], cls: type) -> str:
    names[f"set_{field.name}"] = cls.__dict__[field.name].__set__
    if field.init:
        return f"set_{field.name}(self, {field.name})"
    names[f"make_{field.name}"] = field.default_factory
    return f"set_{field.name}(self, make_{field.name}())"
