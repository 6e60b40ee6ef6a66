"""What is said of a branch of the session that was left (spec 3.11). No tier: it does not answer pressure."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1

from inspector.core.message import Message, Text
from inspector.core.needs import Answer, Conversation, Summarize
from inspector.core.policies.pi.entries import BRANCH, Entry
from inspector.core.policies.pi.files import NO_FILES, Files, files_of
from inspector.core.policies.pi.serialise import serialise
from inspector.core.policies.pi.settings import Settings
from inspector.core.policies.pi.summaries import SYSTEM
from inspector.core.tokens.characters import u16

MAX_TOKENS = 2_048
_INSTRUCTIONS = (
    "The text above is a branch of a session that the user has left. "
    "Summarise it, so that work can go on elsewhere:\n\n"
    "## Goal\n## Constraints & Preferences\n## Progress\n### Done\n### In Progress\n### Blocked\n"
    "## Key Decisions\n## Next Steps\n\n"
    "Be short. Keep file paths, names of functions and error messages as they are."
)


@dataclass(frozen=True, slots=True)
class Branch:
    """What of a branch is summarised, oldest first, and its files (those of every message that was looked at)."""

    messages: tuple[Message, ...] = ()
    files: Files = NO_FILES
    tokens: int = 0


def prepare_branch(entries: Sequence[Entry], budget: int) -> Branch:
    """The newest messages that fit into `budget` tokens (0 = no limit), without tool results.

    A summary that does not fit still enters while less than 90 % of the budget is used; it is then the last one.
    """
    taken: list[Message] = []
    looked: list[Message] = []
    total = 0
    for entry in reversed(entries):
        message = entry.message
        if message is None or message.role == "tool":
            continue
        looked.append(message)
        tokens = entry.size()
        fits = budget <= 0 or total + tokens <= budget
        if fits or (entry.kind in ("compaction", "branch_summary") and total * 10 < budget * 9):
            taken.append(message)
            total += tokens
        if not fits:
            break
    return Branch(tuple(reversed(taken)), files_of(looked, NO_FILES), total)


def branch_budget(settings: Settings) -> int:
    """Window - reserve."""
    return max(1, settings.context_window - settings.reserve_tokens)


def summarise_branch(entries: Sequence[Entry], settings: Settings) -> Conversation[Entry | None]:
    """The branch_summary entry for a branch that was left; None where there is nothing to say. Raises Failure."""
    branch = prepare_branch(entries, branch_budget(settings))
    if not branch.messages:
        return None
    text = f"<conversation>\n{serialise(branch.messages)}\n</conversation>\n\n{_INSTRUCTIONS}"
    answer: Answer = yield Summarize(
        SYSTEM, text, max_tokens=MAX_TOKENS, source=branch.messages, purpose="branch summary"
    )
    return _entry(answer.text + branch.files.text(), branch)


def _entry(summary: str, branch: Branch) -> Entry:
    key = sha1("\n".join(one.id for one in branch.messages).encode("utf-8", "replace"), usedforsecurity=False)
    shown = f"{BRANCH}\n\n<summary>\n{summary}</summary>"
    message = Message(f"pi-branch-{key.hexdigest()[:16]}", "user", (Text(shown),), mark="meta")
    return Entry("branch_summary", message.id, message, counted=u16(summary))
