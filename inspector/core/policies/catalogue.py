"""The list of policies. A policy is imported when it is first needed, so that the window opens sooner."""

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
"""Titles of policies by the name for `--policy`. The module of a policy has the same name, with underscores."""
DEFAULT_POLICY = "roku"
"""The default policy of the window and the command line."""
_HARNESSES = MappingProxyType({"gemini-cli": "gemini", "openclaw": "pi"})
"""Names of policies by the name of their format or client, if the names differ."""


def harness_of(session: Session) -> str:
    """Return the policy of the harness that wrote the session, by its journal, client or format; else Roku."""
    client = session.main.client or session.format
    name = session.policy or _HARNESSES.get(client, client)
    return name if name in TITLES else DEFAULT_POLICY


class _Policies(Mapping[str, Policy[Any, Any]]):
    """The policies by name, each imported on its first use."""

    def __getitem__(self, name: str) -> Policy[Any, Any]:
        if name not in TITLES:
            raise KeyError(name)
        policy: Policy[Any, Any] = import_module(
            f"inspector.core.policies.{name.replace('-', '_')}"
        ).POLICY
        return policy

    def __iter__(self) -> Iterator[str]:
        return iter(TITLES)

    def __len__(self) -> int:
        return len(TITLES)


POLICIES: Mapping[str, Policy[Any, Any]] = _Policies()
