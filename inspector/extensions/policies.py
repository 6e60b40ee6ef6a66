"""Find policies by name: built-in ones, those of installed packages (entry points `inspector.policies`), and a user's
file such as `./mine.py` with an object `POLICY`. The code of a file runs only if the user names the file.
"""

import importlib.util
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, cast

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import POLICIES, TITLES
from inspector.core.policies.harness import Policy
from inspector.extensions.guarded_policy import guard_policy

GROUP = "inspector.policies"
OBJECT = "POLICY"
_GUARDED = "__guarded_policy__"
"""Attribute of a loaded module that holds its guarded policy."""
_NEEDED = (
    "name", "title", "tiers", "settings", "fresh", "load", "dump", "learn", "measure", "breaker", "watermarks", "due",
    "tier", "before_call", "after_turn", "run_due", "turn",
)  # fmt: skip


def find_policy(name: str) -> Policy[Any, Any]:
    """Return the policy with this name, or of this Python file. Raises InspectorError with one sentence."""
    key = name.strip()
    if is_file(key):
        return load_file(Path(key))
    policies = all_policies()[0]
    if key.lower() not in policies:
        raise InspectorError(
            f"There is no policy {name!r}. Known: {', '.join(policies)}, or a Python file of your own."
        )
    return policies[key.lower()]


def is_file(name: str) -> bool:
    """Does the name of a policy name a Python file (does it end in `.py`)?"""
    return name.lower().endswith(".py")


@cache
def all_policies() -> tuple[Mapping[str, Policy[Any, Any]], tuple[str, ...]]:
    """Return all policies by name, and a sentence for each plug-in that could not be loaded.

    A plug-in with the name of a built-in policy is left out.
    """
    plugins, notes = plugin_policies()
    return {**POLICIES, **plugins}, notes


def plugin_policies() -> tuple[Mapping[str, Policy[Any, Any]], tuple[str, ...]]:
    """Return the policies of installed packages by name, and a sentence for each that could not be loaded."""
    policies = dict[str, Policy[Any, Any]]()
    notes = list[str]()
    for point in entry_points(group=GROUP):
        try:
            policy = _load_point(point)
        except InspectorError as why:
            notes.append(str(why))
            continue
        if policy.name in TITLES or policy.name in policies:
            notes.append(
                f"The policy plug-in {point.name!r} calls itself {policy.name!r}, which is taken."
            )
        else:
            policies[policy.name] = policy
    return policies, tuple(notes)


def offered_policies(chosen: str) -> Mapping[str, str]:
    """Return the titles of the policies that a menu offers, by the names that `find_policy` accepts.

    They are the built-in policies, those of installed packages, and the file `chosen`, if it is one.
    """
    plugins, _ = all_policies()
    titles = {
        **TITLES,
        **{name: policy.title for name, policy in plugins.items() if name not in TITLES},
    }
    if is_file(chosen):
        titles[chosen] = file_title(chosen)
    return titles


def file_title(path: str) -> str:
    """Return `Sliding window (mine.py)`; the name of the file alone if it cannot be loaded."""
    name = Path(path).name
    try:
        return f"{load_file(Path(path)).title} ({name})"
    except InspectorError:
        return name


def _load_point(point: EntryPoint) -> Policy[Any, Any]:
    try:
        loaded = point.load()
    except Exception as error:  # noqa: BLE001 - anybody's code runs here
        raise InspectorError(
            f"The policy plug-in {point.name!r} could not be loaded: {type(error).__name__}: {error}"
        ) from None
    code = inspect.getsourcefile(type(loaded)) if type(loaded).__module__ != "builtins" else None
    return _check_policy(loaded, f"The policy plug-in {point.name!r}", Path(code) if code else None)


def load_file(path: Path) -> Policy[Any, Any]:
    """Run a Python file and return its `POLICY`, guarded. Raises InspectorError."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise InspectorError(f"{path}: {error.strerror or error}.") from None
    module_name = f"user_policy_{sha256(str(path.resolve()).encode() + source).hexdigest()[:16]}"
    module = sys.modules.get(module_name)
    if module is None:
        spec = importlib.util.spec_from_file_location(module_name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module  # dataclasses look their module up
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - anybody's code runs here
            del sys.modules[module_name]
            raise InspectorError(
                f"{path} could not be run: {type(error).__name__}: {error}"
            ) from None
    if not hasattr(module, OBJECT):
        raise InspectorError(f"{path} has no {OBJECT}: the policy must be an object of that name.")
    guarded = module.__dict__.get(_GUARDED)
    if guarded is None:
        guarded = module.__dict__[_GUARDED] = _check_policy(
            getattr(module, OBJECT), str(path), path, str(path.absolute())
        )
    return cast(Policy[Any, Any], guarded)


def _check_policy(
    candidate: Any, origin: str, path: Path | None, source: str = ""
) -> Policy[Any, Any]:
    missing = [name for name in _NEEDED if not hasattr(candidate, name)]
    if missing:
        raise InspectorError(f"{origin} holds no policy: it lacks {', '.join(missing)}.")
    return guard_policy(candidate, origin, path, source)
