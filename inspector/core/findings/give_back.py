"""Write the facts that a compaction lost as a text to paste into the session, so that the agent has them again."""

from collections.abc import Iterable, Sequence

from inspector.core.findings.lost_rows import LostRow

_HEADS = {
    "constraint": "Rules that still hold:",
    "instruction": "What I asked for and what is still open:",
    "decision": "Decisions that were made:",
    "error": "Errors that are still open:",
}
_OTHERS = "Names and values that are needed:"
NOTHING_OPEN = "No open fact was lost."


def open_and_gone(rows: Iterable[LostRow]) -> tuple[LostRow, ...]:
    """Return the rows that should be given back: those that are worth showing and not finished."""
    return tuple(row for row in rows if row.is_worth_telling and row.is_open)


def give_back_text(rows: Sequence[LostRow]) -> str:
    """Return rows as a text for the user to send; empty without rows. The facts are quoted unchanged."""
    if not rows:
        return ""
    groups = dict[str, list[str]]()
    for head in (*_HEADS.values(), _OTHERS):
        groups[head] = []
    for row in rows:
        groups[_HEADS.get(row.fact.kind, _OTHERS)].append(f"- {row.fact.text}")
    blocks = ["\n".join((head, *dict.fromkeys(lines))) for head, lines in groups.items() if lines]
    return "\n\n".join(("The conversation was compacted. This was lost and still counts:", *blocks))
