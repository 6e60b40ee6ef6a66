"""Which policy a session opens with."""

import pytest

from inspector.core.policies.catalogue import POLICIES, harness_of
from inspector.core.session import Session, Thread


@pytest.mark.parametrize(
    ("format_name", "policy", "client", "expected"),
    [
        ("claude-code", "", "", "claude-code"),
        ("codex", "", "", "codex"),
        ("gemini-cli", "", "", "gemini"),
        ("opencode", "", "", "opencode"),
        ("pi", "", "", "pi"),
        ("anthropic", "", "", "roku"),
        ("journal", "pulse", "", "pulse"),
        ("journal", "", "", "roku"),
        ("journal", "./mine.py", "", "roku"),
        ("proxy", "", "claude-code", "claude-code"),
        ("proxy", "", "curl", "roku"),
        ("", "", "", "roku"),
    ],
)
def test_a_session_opens_with_its_harness(
    format_name: str, policy: str, client: str, expected: str
) -> None:
    session = Session(format_name, (Thread("main", client=client),), policy=policy)
    assert harness_of(session) == expected
    assert expected in POLICIES
