"""The one list that names the policies."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.policies import anthropic_editing, codex, gemini, learn_claude_code, none, opencode, pi, pulse, roku
from inspector.core.policies.policy import Policy

POLICIES: Mapping[str, Policy[Any, Any]] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            roku.POLICY,
            pulse.POLICY,
            pi.POLICY,
            learn_claude_code.POLICY,
            codex.POLICY,
            anthropic_editing.POLICY,
            opencode.POLICY,
            gemini.POLICY,
            none.POLICY,
        )
    }
)


def policy(name: str) -> Policy[Any, Any]:
    """The policy of that name. Raises InspectorError with the names that are known."""
    found = POLICIES.get(name.strip().lower())
    if found is None:
        raise InspectorError(f"There is no policy {name!r}. Known: {', '.join(POLICIES)}.")
    return found
