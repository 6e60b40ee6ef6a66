"""The one list that names the policies. A policy is imported when it is first asked for: the window opens sooner."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from inspector.core.policies.harness import Policy
from inspector.core.session import Session

TITLES: Mapping[str, str] = MappingProxyType(
    {
        "roku": "Roku",
        "pulse": "Pulse Coder",
        "pi": "Pi",
        "learn-claude-code": "learn-claude-code v5",
        "claude-code": "Claude Code",
        "codex": "Codex (local)",
        "anthropic-editing": "Anthropic context editing",
        "opencode": "opencode",
        "gemini": "Gemini CLI",
        "none": "No compaction",
    }
)
"""Names as in `--policy`, and as people read them. A policy's module has its name, with underscores."""
DEFAULT_POLICY = "roku"
"""The policy on every face unless somebody chooses another."""
_HARNESSES = MappingProxyType({"gemini-cli": "gemini", "openclaw": "pi"})
"""Policy by the name of a format or a client, where it is another."""


def harness_of(session: Session) -> str:
    """The policy of the harness that wrote the session: what its own journal names, that of its client or its format;
    Roku where there is none of it."""
    client = session.main.client or session.format
    found = session.policy or _HARNESSES.get(client, client)
    return found if found in TITLES else DEFAULT_POLICY


class _Policies(Mapping[str, Policy[Any, Any]]):
    """By name, each imported on its first use."""

    def __getitem__(self, name: str) -> Policy[Any, Any]:
        if name not in TITLES:
            raise KeyError(name)
        found: Policy[Any, Any] = import_module(f"inspector.core.policies.{name.replace('-', '_')}").POLICY
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(TITLES)

    def __len__(self) -> int:
        return len(TITLES)


POLICIES: Mapping[str, Policy[Any, Any]] = _Policies()
