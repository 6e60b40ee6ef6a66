"""Pi's running state: what was reported, where the latest compaction stands, failures. A value, and its JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from inspector.core.message import Message
from inspector.core.policies.pi.entries import Entry, entries_of, leading_system
from inspector.core.policies.pi.settings import MAX_FAILURES
from inspector.core.policies.start import FAILED
from inspector.core.policies.verdict import CallReport, PolicyInput
from inspector.core.usage import Usage


@dataclass(frozen=True, slots=True)
class PiState:
    """What Pi knows from call to call."""

    reports: tuple[CallReport, ...] = ()
    """The newest calls, oldest first, back to one with usage that did not fail."""
    border: str = ""
    """Id of the last message that was there at the latest compaction: what stands up to it is older than that."""
    checked: str = ""
    """Id of the answer that was checked last: each answer is checked once."""
    failures: int = 0
    """Compactions that failed in a row."""
    overflowed: bool = False
    """An overflow was recovered from, and no call has succeeded since."""
    compactions: int = 0
    messages: int = 0
    """Messages that were added, for the frequency of compactions."""
    seen: str = ""
    """Id of the last message that is in `messages`."""
    first_kept: str = ""
    """Id of the first entry that the latest compaction kept."""

    @property
    def open(self) -> bool:
        """Failed so often in a row that safe mode stops trying."""
        return self.failures >= MAX_FAILURES


def reports_of(messages: Sequence[Message], running: PiState, moment: PolicyInput) -> tuple[CallReport, ...]:
    """What was reported: as the moment tells it, or else what was noted and the newest answer's usage."""
    if moment.reports is not None:
        return moment.reports
    newest = last_answer(messages)
    if moment.usage is None and not moment.finish:
        return running.reports
    if not newest or any(one.upto == newest for one in running.reports):
        return running.reports
    return needed((*running.reports, CallReport(newest, moment.usage, moment.finish, moment.model)))


def border_of(messages: Sequence[Message], running: PiState, moment: PolicyInput) -> str:
    """Id of the last message that is older than the compaction whose summary begins the buffer: recorded, or our own;
    empty where nobody knows."""
    lead = leading_system(messages)
    kept = moment.filed.kept.get(messages[lead].id) if lead < len(messages) else None
    if kept is None:
        return running.border
    return messages[min(lead + kept, len(messages) - 1)].id


def entries_at(messages: Sequence[Message], running: PiState, moment: PolicyInput, newest: bool = False) -> list[Entry]:
    """The buffer as entries of a session of Pi's."""
    rest = messages[leading_system(messages) :]
    return entries_of(rest, border_of(messages, running, moment), running.first_kept, moment.filed, newest)


def needed(reports: tuple[CallReport, ...]) -> tuple[CallReport, ...]:
    """The reports from the newest good one on."""
    good = [n for n, one in enumerate(reports) if one.usage is not None and one.finish not in FAILED]
    return reports[good[-1] :] if good else reports[-RECENT_REPORTS:]


RECENT_REPORTS = 16
"""Reports without usage that are remembered."""


def last_answer(messages: Sequence[Message]) -> str:
    """Id of the newest assistant message; empty where there is none."""
    return next((message.id for message in reversed(messages) if message.role == "assistant"), "")


def noted(messages: Sequence[Message], running: PiState, moment: PolicyInput) -> PiState:
    """With what was reported, and the messages that are new."""
    new = 0
    for message in reversed(messages):
        if message.id == running.seen:
            break
        new += 1
    seen = messages[-1].id if messages else running.seen
    reports = reports_of(messages, running, moment)
    return replace(running, reports=reports, messages=running.messages + new, seen=seen)


def dump(running: PiState) -> dict[str, Any]:
    """As JSON. The frequency is derived, for people to read."""
    return {
        "breaker": {"failures": running.failures, "open": running.open},
        "reports": [asdict(one) for one in running.reports],
        "border": running.border,
        "first_kept": running.first_kept,
        "checked": running.checked,
        "overflowed": running.overflowed,
        "compactions": running.compactions,
        "messages": running.messages,
        "messages_per_compaction": running.messages / running.compactions if running.compactions else None,
        "seen": running.seen,
    }


def parsed(data: Mapping[str, Any]) -> PiState:
    """From JSON; what is missing is as at the start of a session."""
    return PiState(
        tuple(_report(one) for one in data.get("reports", ())),
        str(data.get("border", "")),
        str(data.get("checked", "")),
        int((data.get("breaker") or {}).get("failures", 0)),
        bool(data.get("overflowed", False)),
        int(data.get("compactions", 0)),
        int(data.get("messages", 0)),
        str(data.get("seen", "")),
        str(data.get("first_kept", "")),
    )


def _report(data: Any) -> CallReport:
    usage = data.get("usage")
    return CallReport(
        str(data["upto"]), Usage(**usage) if usage else None, str(data.get("finish", "")), str(data.get("model", ""))
    )
