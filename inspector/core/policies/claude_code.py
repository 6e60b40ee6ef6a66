"""Claude Code as observed from outside: micro-compaction, automatic compaction, and the files restored afterwards.

Its source is not open. docs/policies.md says what was seen in recorded sessions and in which versions, what others
report, and what is unknown and therefore missing here. `RULES` has the rules by version. The wording of the summary
request is this project's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal, NamedTuple, TypeAlias

from inspector.core.calls import used_last
from inspector.core.formats.claude_code.unrecorded import (
    LEAST,
    STAYS,
    client_tokens,
    oldest_results,
)
from inspector.core.message import Message
from inspector.core.needs import (
    Answer,
    ContextWindowExceeded,
    Conversation,
    Failure,
    ReadFile,
    Summarize,
)
from inspector.core.outcome import Event, FateName, Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import (
    SimplePolicy,
    SimpleSettings,
    SimpleState,
    compared,
    failed,
    settled,
)
from inspector.core.policies.replacements import clear_result, inserted
from inspector.core.policies.settings import SettingPairs, setting, share_of
from inspector.core.policies.turn import AllDone, Done
from inspector.core.policies.verdict import CallReport, TierName, Verdict, Verdicts, Watermark
from inspector.core.tokens.harnesses import u16
from inspector.core.usage import Usage

MICRO, AUTO = "micro", "auto"
CLIENT = "Claude Code "
"""Prefix of `Session.client` in sessions of Claude Code; a version follows."""
SECTIONS = (
    "Primary Request and Intent",
    "Key Technical Concepts",
    "Files and Code Sections",
    "Errors and fixes",
    "Problem Solving",
    "All user messages",
    "Pending Tasks",
    "Current Work",
    "Optional Next Step",
)
"""The sections of every recorded summary, numbered, in this order."""
REQUEST = (
    "Answer with text only, call no tool. Write a detailed summary of the conversation so far: it replaces the "
    "conversation, and the work goes on from it alone. Keep names, paths, code and the user's own words exact. Use "
    "these sections:\n" + "\n".join(f"{n}. {title}:" for n, title in enumerate(SECTIONS, 1))
)
CONTINUED = "This session is being continued from a previous conversation that ran out of context. "
SUMMARIZED = CONTINUED + "The conversation is summarized below:\n"
COVERS = CONTINUED + "The summary below covers the earlier portion of the conversation.\n\n"
PLEASE = (
    "Please continue the conversation from where we left it off without asking the user any further questions. "
    "Continue with the last task that you were asked to work on."
)
DIRECTLY = (
    "Continue the conversation from where it left off without asking the user any further questions. Resume directly "
    '— do not acknowledge the summary, do not recap what was happening, do not preface with "I\'ll continue" or '
    "similar. Pick up the last task as if the break never happened."
)
TOO_LARGE = "File {path} was read before the compaction; it is too large to be included."
READING = frozenset({"Read", "Edit", "MultiEdit", "Write"})
SUMMARY_TOKENS = 20_000
HALF = 2
"""Automatic compaction starts at no less than the window divided by this number, unless `autocompact_pct` is set, and
micro-compaction at no less than that limit divided by it. The behaviour for windows below 66,000 tokens is unknown."""

Version = tuple[int, ...]


class VersionRules(NamedTuple):
    """The rules that differ between versions."""

    room: int
    """Tokens reserved for the answer."""
    counts_since: bool
    """True if the client's count includes the messages after the last answer."""
    output_as_filed: bool
    """True if the client's count uses the recorded output tokens even if they are a placeholder."""
    micro: bool
    opening: str
    closing: str


RULES = {
    "2.0.76": VersionRules(
        room=32_000,
        counts_since=False,
        output_as_filed=False,
        micro=False,
        opening=SUMMARIZED,
        closing=PLEASE,
    ),
    "2.1.5": VersionRules(
        room=32_000,
        counts_since=True,
        output_as_filed=True,
        micro=True,
        opening=COVERS,
        closing=PLEASE,
    ),
    "2.1.21": VersionRules(
        room=20_000,
        counts_since=True,
        output_as_filed=False,
        micro=False,
        opening=COVERS,
        closing=PLEASE,
    ),
    "2.1.43": VersionRules(
        room=20_000,
        counts_since=True,
        output_as_filed=False,
        micro=False,
        opening=COVERS,
        closing=DIRECTLY,
    ),
}
"""Rules by the first version to which they apply. Observed were 2.0.76 to 2.1.1, 2.1.7 to 2.1.20, 2.1.29 to 2.1.37, and
2.1.217 and later. When exactly a rule changed in between is unknown, except for micro-compaction (2.1.5)."""


@dataclass(frozen=True, slots=True)
class ClaudeCodeSettings(SimpleSettings):
    """Claude Code's constants. None means the value in `RULES` for the version."""

    rules: Literal["2.0.76", "2.1.5", "2.1.21", "2.1.43"] = setting(
        "2.1.43",
        "version from which the rules are taken; a session of Claude Code sets its own",
    )
    buffer_tokens: int = setting(
        13_000, "tokens kept free in addition to the room for the answer", low=0
    )
    max_output_tokens: int | None = setting(
        None,
        "room for the answer; none = 32,000 up to 2.1.20, then 20,000",
        names=["CLAUDE_CODE_MAX_OUTPUT_TOKENS"],
    )
    auto_compact_window: int | None = setting(
        None,
        "a smaller window to use instead of the model's",
        names=["CLAUDE_CODE_AUTO_COMPACT_WINDOW"],
        low=1,
    )
    autocompact_pct: float | None = setting(
        None,
        "compacts at this percentage of the window minus the answer's room, if that is lower",
        names=["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"],
        low=1,
        high=100,
    )
    micro_margin: int = setting(
        20_000, "old results are cleared from this many tokens below the compaction limit", low=0
    )
    micro_keep: int = setting(STAYS, "tokens of old tool results that stay", low=0)
    micro_least: int = setting(LEAST, "tokens that clearing must save at least", low=0)
    restore_files: int = setting(5, "files put back after a compaction, newest first", low=0)
    restore_file_tokens: int = setting(
        5_000, "tokens up to which a file is put back; a larger one is named", low=0
    )

    @property
    def by(self) -> VersionRules:
        """Return the rules of the chosen version."""
        return RULES[self.rules]

    @property
    def limit(self) -> int:
        """Return the tokens at which automatic compaction starts."""
        window = min(
            self.context_window_tokens, self.auto_compact_window or self.context_window_tokens
        )
        usable = window - (
            self.by.room if self.max_output_tokens is None else self.max_output_tokens
        )
        line = usable - self.buffer_tokens
        if self.autocompact_pct is not None:
            line = min(line, int(usable * self.autocompact_pct / 100))
            return max(line, 1)
        return max(line, window // HALF)

    @property
    def micro_limit(self) -> int:
        """Return the tokens from which on micro-compaction clears old tool results."""
        return max(self.limit - self.micro_margin, self.limit // HALF)


ClaudeCodeContext: TypeAlias = PolicyContext[ClaudeCodeSettings, SimpleState]


class ClaudeCodePolicy(SimplePolicy[ClaudeCodeSettings]):
    """Claude Code as a `Policy`. The base class documents the methods."""

    name = "claude-code"
    title = "Claude Code"
    tiers: Sequence[TierName] = (
        TierName(
            MICRO, "Micro-compact", "Clears the oldest results of some tools (2.1.5 to 2.1.20)."
        ),
        TierName(
            AUTO,
            "Auto-compact",
            "A summary of all in nine sections, and the files used last.",
            calls_model=True,
        ),
    )
    settings_type = ClaudeCodeSettings
    estimates_after_compaction = True

    def of_client(self, client: str) -> SettingPairs:
        version = _numbers(client) if client.startswith(CLIENT) else ()
        if not version:
            return ()
        older = [name for name in RULES if _numbers(name) <= version]
        return (("rules", older[-1] if older else "2.0.76"),)

    def watermarks(self, settings: ClaudeCodeSettings) -> tuple[Watermark, ...]:
        window, window_from = settings.context_window_tokens, settings.window_from
        low, high = settings.micro_limit, settings.limit
        micro = Watermark(
            f"{share_of(low, window, window_from)} micro",
            tokens=low,
            setting="micro_margin",
            tiers=(MICRO,),
            fires_on=True,
        )
        auto = Watermark(
            f"{share_of(high, window, window_from)} compact",
            tokens=high,
            setting="buffer_tokens",
            tiers=(AUTO,),
            fires_on=True,
        )
        return (micro, auto) if settings.by.micro else (auto,)

    def due(self, context: ClaudeCodeContext) -> Verdicts:
        settings = context.settings
        tokens = self._count(context)
        least = settings.micro_limit
        auto = self.from_limit(AUTO, settings.limit, tokens, context)
        if not settings.by.micro:
            why = f"Claude Code {settings.rules} has no micro-compaction"
            return Verdict(MICRO, due=False, why=why), auto
        why = compared(
            tokens,
            limit=least,
            of=f"{settings.micro_margin:,} below the compaction limit",
            reached=tokens >= least,
        )
        if tokens < least:
            return Verdict(MICRO, due=False, why=why, tokens=tokens, limit=least), auto
        calls, saved = oldest_results(context.messages, settings.micro_keep, settings.micro_least)
        if calls:
            why += f" · clears {len(calls):,} results, saves {saved:,}"
        else:
            why += " · too little can be cleared"
        return Verdict(MICRO, due=bool(calls), why=why, tokens=tokens, limit=least), auto

    def tier(self, name: str, context: ClaudeCodeContext) -> Done[SimpleState]:
        match name.lower():
            case "micro":
                return _micro(context)
            case "auto":
                tokens = self._count(context)
                is_due = bool(context.moment.overflow) or tokens >= context.settings.limit
                trigger = AUTO if is_due else "manual"
                return (yield from _compact(context, trigger, tokens))
        raise self.unknown(name)

    def before_call(self, context: ClaudeCodeContext) -> AllDone[SimpleState]:
        settings = context.settings
        tokens = self._count(context)
        done: tuple[Outcome[SimpleState], ...] = ()
        cleared = context
        if settings.by.micro and tokens >= settings.micro_limit:
            micro = _micro(context)
            if micro.changed:
                done = (micro,)
                cleared = context.with_buffer(micro.buffer)
        # the client counts once: clearing results does not prevent the compaction
        if cleared.messages and (context.moment.overflow or tokens >= settings.limit):
            return (*done, (yield from _compact(cleared, AUTO, tokens)))
        return done

    def _count(self, context: ClaudeCodeContext) -> int:
        """Return the client's own count of the buffer, in tokens. O(messages since the report).

        The count starts from the newest report whose answer is still in the buffer. Without such a report, the client
        counts messages only, not system prompt and tools. If the reports are unknown, the count is that of
        `SimplePolicy`.
        """
        rules = context.settings.by
        messages = context.messages
        reports = context.moment.reports
        if reports is None:
            return self.tokens(context)
        report = _find_newest_report(reports)
        end = None if report is None else _find_end(messages, report.upto)
        if report is None or report.usage is None or end is None:
            return sum(map(client_tokens, messages))
        output = _count_output(report.usage, messages, end, rules)
        since = sum(map(client_tokens, messages[end:])) if rules.counts_since else 0
        return report.usage.prompt + output + since


def _find_newest_report(reports: Sequence[CallReport]) -> CallReport | None:
    """Return the newest report with prompt tokens; None if there is none."""
    for report in reversed(reports):
        if report.usage is not None and report.usage.prompt:
            return report
    return None


def _find_end(messages: Sequence[Message], id_: str) -> int | None:
    """Return the index after the last message with this id; None if there is none."""
    for end in range(len(messages), 0, -1):
        if messages[end - 1].id == id_:
            return end
    return None


def _count_output(usage: Usage, messages: Sequence[Message], end: int, rules: VersionRules) -> int:
    """Return the output tokens of the answer that ends before `end`, estimated if the file records a placeholder."""
    if usage.output_is_final or rules.output_as_filed:
        return usage.output
    newest_first = (messages[at] for at in range(end - 1, -1, -1))
    answer = takewhile(lambda message: message.role == "assistant", newest_first)
    return max(usage.output, sum(map(client_tokens, answer)))


def _numbers(client: str) -> Version:
    """Return the last version in the text, such as (2, 1, 37) of `Claude Code 2.1.36 to 2.1.37`; empty if none."""
    _, _, version = client.rpartition(" ")
    numbers = version.split(".")
    if not all(number.isdecimal() and len(number) < 9 for number in numbers):
        return ()
    return tuple(map(int, numbers))


def _micro(context: ClaudeCodeContext) -> Outcome[SimpleState]:
    buffer, settings = context.buffer, context.settings
    calls, saved = oldest_results(buffer.messages, settings.micro_keep, settings.micro_least)
    cleared_calls = set(calls)
    if not cleared_calls:
        return context.unchanged(MICRO)
    changed: dict[str, FateName] = {}
    after: list[Message] = []
    for message in buffer.messages:
        if message.result and message.result.call_id in cleared_calls:
            changed[message.id] = "cleared"
            message = clear_result(message)
        after.append(message)
    events = (Event("microcompact_boundary", {"cleared": len(calls), "tokensSaved": saved}),)
    return settled(MICRO, context, buffer.with_messages(after), events, changed)


def _compact(context: ClaudeCodeContext, trigger: str, tokens: int) -> Done[SimpleState]:
    buffer = context.buffer
    messages = context.messages
    by = context.settings.by
    if not messages:
        return failed(AUTO, context, "nothing_to_compact")
    request = f"{REQUEST}\n\n{context.moment.instructions}".strip()
    try:
        answer: Answer = yield Summarize(
            buffer.prompt.system or "",
            request,
            messages,
            max_tokens=SUMMARY_TOKENS,
            source=messages,
        )
    except ContextWindowExceeded:
        return failed(AUTO, context, "overflow_after_retries")
    except Failure:
        return failed(AUTO, context, "provider_failure")
    if not answer.text.strip():
        return failed(AUTO, context, "empty_summary")
    text = f"{by.opening}Summary:\n{answer.text.strip()}\n\n{by.closing}"
    files = yield from _files(messages, context.settings)
    after = buffer.with_messages(
        [inserted("claude-code", role="user", text=text, made_from=messages), *files]
    )
    changed: dict[str, FateName] = {message.id: "summarised" for message in messages}
    events = (
        Event("compact_boundary", {"trigger": trigger, "preTokens": tokens, "files": len(files)}),
    )
    return settled(AUTO, context, after, events, changed)


def _files(
    messages: Sequence[Message], settings: ClaudeCodeSettings
) -> Conversation[list[Message]]:
    """Return the most recently used files, each as a message of the client."""
    results = (message.result for message in messages if message.mark != "placeholder")
    recorded = {
        result.call_id: result.content
        for result in results
        if result is not None and not result.is_error
    }
    restored: list[Message] = []
    for path, call in used_last(messages, READING, ("file_path",)):
        if len(restored) >= settings.restore_files:
            break
        try:
            answer: Answer = yield ReadFile(
                path, recorded=recorded.get(call.id) if call.name == "Read" else None
            )
        except Failure:
            continue
        fits = u16(answer.text) <= settings.restore_file_tokens * 4
        text = f"File {path}:\n{answer.text}" if fits else TOO_LARGE.format(path=path)
        put_back = inserted(
            f"claude-code-file{len(restored)}", role="user", text=text, made_from=messages
        )
        restored.append(replace(put_back, summary=False, mark="attachment"))
    return restored


POLICY = ClaudeCodePolicy()
