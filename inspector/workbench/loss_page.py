"""The page of lost facts: what the compactions of a thread removed, and filters for it.

Each fact has three places: the message that held it before the compaction, the message that replaced that one, and the
later request that needed the fact again.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, get_args

from inspector.core.calls import CallIndex
from inspector.core.facts.coverage import Passages, content_words
from inspector.core.facts.fact import SENTENCES, Fact, FactKind
from inspector.core.facts.reading import call_text
from inspector.core.facts.sentences import sentences
from inspector.core.findings.answers import lost_answer
from inspector.core.findings.lost import CompactionLoss, lost_by_compactions
from inspector.core.findings.lost_rows import VERDICT_WORDS, LostRow, NeededAgain
from inspector.core.message import Message, part_text
from inspector.core.session import Session, Thread
from inspector.core.words import plural
from inspector.workbench.message_rows import message_row

LossView: TypeAlias = Literal[
    "Worth reading", "Needed again", "Open instructions", "Not sure", "Settled", "Everything"
]
"""The verdicts that a filter selects. Settled: said in other words, or done before the compaction."""
KindGroup: TypeAlias = Literal[
    "Instructions", "Decisions", "Errors", "Paths", "Names", "Values", "Addresses"
]
VIEWS: tuple[LossView, ...] = get_args(LossView)
KIND_GROUPS: tuple[KindGroup, ...] = get_args(KindGroup)
_GROUPS: Mapping[FactKind, KindGroup] = {
    "instruction": "Instructions",
    "constraint": "Instructions",
    "decision": "Decisions",
    "error": "Errors",
    "path": "Paths",
    "identifier": "Names",
    "number": "Values",
    "url": "Addresses",
}
_IS_WANTED: Mapping[LossView, Callable[[LostRow], bool]] = {
    "Worth reading": lambda row: row.is_worth_telling,
    "Needed again": lambda row: bool(row.needed),
    "Open instructions": lambda row: row.is_open and row.fact.kind in ("instruction", "constraint"),
    "Not sure": lambda row: row.verdict == "unsure",
    "Settled": lambda row: not row.is_open,
    "Everything": lambda row: True,
}
_LEAST_SHARE = 0.2
"""Smallest share of a fact's content words that a sentence of a summary must hold to count as near the fact."""
_PASSAGE_WORDS = 200
"""Number of words of a fact that are searched for in a message."""
_LONGEST_SENTENCE = 600
"""Maximum number of characters of a sentence in a summary that can be the nearest sentence."""


@dataclass(frozen=True, slots=True)
class LossEntry:
    """A lost fact and the compaction that removed it."""

    row: LostRow
    loss: CompactionLoss
    holder: str = ""
    """The tool or role of the message that held the fact, and what that message is about."""
    caller: str = ""
    """The call that needed the fact again, or how it was needed; empty if no request needed it."""

    @property
    def kind_group(self) -> KindGroup:
        return _GROUPS[self.row.fact.kind]

    @property
    def use(self) -> NeededAgain | None:
        """Return the first request that needed the fact again."""
        return self.row.needed[0] if self.row.needed else None

    @property
    def tokens_again(self) -> int:
        """Return the tokens of the results that brought the fact back."""
        return sum(use.tokens for use in self.row.needed)


@dataclass(frozen=True, slots=True)
class LossPage:
    """What the compactions of one thread removed."""

    thread: Thread
    losses: Sequence[CompactionLoss]
    entries: Sequence[LossEntry]
    """All lost facts, the most harmful first."""
    messages: Mapping[str, Message]
    """Messages of the thread by id."""
    nothing: str = ""
    """What it means that there are no losses, as a sentence; empty if there are losses."""


@dataclass(frozen=True, slots=True)
class LossFilter:
    """The filter of the page: which entries are listed."""

    view: LossView = "Worth reading"
    before_request: int | None = None
    """The first request after the selected compaction; None selects all compactions."""
    kinds: frozenset[KindGroup] = frozenset()
    """The selected kinds; empty selects all."""
    text: str = ""

    def takes(self, entry: LossEntry) -> bool:
        """Does the entry match the selected compaction, verdict, kind and text?"""
        return self.is_counted(entry) and (not self.kinds or entry.kind_group in self.kinds)

    def is_counted(self, entry: LossEntry) -> bool:
        """Does the entry match the filter, ignoring its kind?"""
        return self.is_there(entry) and _IS_WANTED[self.view](entry.row)

    def is_there(self, entry: LossEntry) -> bool:
        """Does the entry belong to the selected compaction and contain the text searched for?"""
        if self.before_request is not None and entry.loss.before_request != self.before_request:
            return False
        text = self.text.lower()
        return not text or text in f"{entry.row.fact.text}\n{entry.caller}\n{entry.holder}".lower()


class LossCounts(NamedTuple):
    """How many entries each choice of the filter would show."""

    compactions: Mapping[int | None, int]
    """Counts by the first request after the compaction; the key None holds the count of all compactions."""
    views: Mapping[LossView, int]
    kinds: Mapping[KindGroup, int]


def build_loss_page(
    session: Session, thread: Thread, losses: Sequence[CompactionLoss] | None = None
) -> LossPage:
    """Collect what the compactions of a thread removed. O(text) unless `losses` is known."""
    if losses is None:
        losses = lost_by_compactions(session, thread)
    messages = {message.id: message for message in thread.messages}
    index = CallIndex(thread.messages)
    entries = [_make_entry(row, loss, messages, index) for loss in losses for row in loss.rows]
    entries.sort(key=lambda entry: (entry.row.hurts, -entry.tokens_again))
    nothing = "" if losses else lost_answer(session, thread).text
    return LossPage(thread, losses, entries, messages, nothing)


def _make_entry(
    row: LostRow, loss: CompactionLoss, messages: Mapping[str, Message], index: CallIndex
) -> LossEntry:
    holder = messages.get(row.message)
    words = _describe_message(holder, index, row.fact) if holder is not None else ""
    return LossEntry(row, loss, holder=words, caller=_describe_use(row, messages, index))


def _describe_message(message: Message, index: CallIndex, fact: Fact) -> str:
    """Return the call that names the fact, or the tool or role and the subject of the message."""
    for call in message.calls if len(message.calls) > 1 else ():
        if fact.text in call_text(call):
            return f"{call.name} {index.shown_subject(call)}".rstrip()
    fields = message_row(message, index)
    name = fields.tool if fields.tool and fields.role in ("result", "assistant") else fields.role
    return f"{name} {fields.subject}".rstrip()


def _describe_use(row: LostRow, messages: Mapping[str, Message], index: CallIndex) -> str:
    if not row.needed:
        return ""
    use = row.needed[0]
    caller = messages.get(use.message)
    if use.how == "user":
        return "the user said it again"
    if use.how == "answer" or caller is None:
        return "used in the answer"
    result = messages.get(use.result)
    call = index.call_of(result) if result is not None else None
    if call is not None:
        return f"{call.name} {index.shown_subject(call)}".rstrip()
    return _describe_message(caller, index, row.fact)


def count_entries(page: LossPage, chosen: LossFilter) -> LossCounts:
    """Count the entries that each choice would show: each view, each kind in the chosen view, each compaction."""
    compactions: dict[int | None, int] = {None: 0}
    for loss in page.losses:
        compactions[loss.before_request] = 0
    in_any = replace(chosen, before_request=None)
    for entry in filter(in_any.takes, page.entries):
        compactions[None] += 1
        compactions[entry.loss.before_request] += 1
    views = dict.fromkeys(VIEWS, 0)
    kinds = dict.fromkeys(KIND_GROUPS, 0)
    for entry in filter(chosen.is_there, page.entries):
        for view, is_wanted in _IS_WANTED.items():
            views[view] += is_wanted(entry.row)
        kinds[entry.kind_group] += chosen.is_counted(entry)
    return LossCounts(compactions, views, kinds)


def describe_page(losses: Iterable[CompactionLoss]) -> str:
    """Sum up the losses in a sentence.

    `890 of 946 facts are no longer in context after the compaction before request 79; 23 were needed again.`
    """
    listed = list(losses)
    gone = sum(loss.lost for loss in listed)
    before = sum(loss.before for loss in listed)
    needed = sum(loss.needed_again for loss in listed)
    if len(listed) == 1:
        where = f"the compaction before request {listed[0].before_request:,}"
    else:
        drops = sum(loss.kind == "drop" for loss in listed)
        where = plural(len(listed) - drops, "compaction")
        if drops:
            where += f" and {plural(drops, 'silent drop')}"
    again = (
        f"{needed:,} were needed again" if needed > 1 else f"{needed or 'none'} was needed again"
    )
    return f"{gone:,} of {before:,} facts are no longer in context after {where}; {again}."


# -- the three places of a fact ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FactPlace:
    """One place of a fact: its messages, or a sentence that says why there are none."""

    title: str
    messages: tuple[Message, ...] = ()
    passage: str = ""
    """The passage of the messages' text to highlight; empty if the whole text is meant."""
    note: str = ""
    """A sentence of explanation."""
    request: int | None = None
    """The request whose buffer holds the messages."""
    message: str = ""
    """Id of the message to select in that buffer."""


class FactPlaces(NamedTuple):
    """The three places of a fact: before the compaction, after it, and where it was needed again."""

    before: FactPlace
    after: FactPlace
    again: FactPlace


def find_places(page: LossPage, entry: LossEntry) -> FactPlaces:
    """Return the message that held a fact, the message that replaced it, and what needed the fact again. O(summary)."""
    return FactPlaces(
        _place_before(page, entry), _place_after(page, entry), _place_again(page, entry)
    )


def _place_before(page: LossPage, entry: LossEntry) -> FactPlace:
    row, last = entry.row, entry.loss.before_request - 1
    message = page.messages.get(row.message)
    if message is None:
        return FactPlace("Before", note="The message that held the fact is not in this file.")
    request = row.request if row.request is not None and row.request <= last else max(0, last)
    arrival = "" if row.request is None else f", first sent with request {row.request:,}"
    title = f"{entry.holder or message.role}{arrival}"
    passage = _find_passage(row.fact.text, (message,))
    return FactPlace(
        title, messages=(message,), passage=passage, request=request, message=row.message
    )


def _find_passage(text: str, messages: Iterable[Message]) -> str:
    """Return the first line of a text as the messages spell it, ignoring white space; empty if no message contains
    it.
    """
    words = re.compile(r"\s+".join(map(re.escape, text.split()[:_PASSAGE_WORDS])))
    for message in messages:
        for part in message.parts:
            if (match := words.search(part_text(part))) is not None:
                return match[0].split("\n", 1)[0]
    return ""


def _place_after(page: LossPage, entry: LossEntry) -> FactPlace:
    row = entry.row
    before_request = entry.loss.before_request
    request = min(before_request, len(page.thread.requests) - 1)
    if not entry.loss.is_readable:
        return FactPlace(
            "In the summary", note="The summary is not readable in this file.", request=request
        )
    after = page.thread.place(before_request).view.messages()
    same = next((message for message in after if message.id == row.message), None)
    summary = _find_summary(page.thread, before_request)
    successor = summary or same
    if successor is None:
        return FactPlace(
            "After the compaction", note="Nothing replaced the message.", request=request
        )
    title = "Summary" if successor is summary else "The same message, changed"
    nearest, note = _judge_words(row, successor)
    passage = _find_passage(nearest, (successor,)) if nearest else ""
    if passage:
        note += " The nearest passage is marked."
    elif nearest:
        note += f" Nearest: “{nearest}”"
    return FactPlace(
        f"{title}, before request {before_request:,}",
        messages=(successor,),
        passage=passage,
        note=note,
        request=request,
        message=successor.id,
    )


def _find_summary(thread: Thread, at: int) -> Message | None:
    summaries = [
        compaction.summary for compaction in thread.compactions if compaction.before_request == at
    ]
    return next((summary for summary in summaries if summary is not None), None)


def _judge_words(row: LostRow, successor: Message) -> tuple[str, str]:
    """Return the passage that is nearest to the fact, and a sentence about the verdict."""
    nearest = row.nearest or _nearest_sentence(row.fact, successor)
    if row.verdict == "gone":
        return nearest, "The fact is not mentioned."
    if row.verdict in ("done", "unknown"):
        return nearest, row.why or f"{VERDICT_WORDS[row.verdict].capitalize()}."
    if row.verdict == "unsure":
        return nearest, "Perhaps said: a sentence holds part of the fact."
    if row.fact.kind in SENTENCES:
        return nearest, "Said in other words."
    return nearest, "The name is still mentioned, the content is not."


def _nearest_sentence(fact: Fact, successor: Message) -> str:
    """Return the passage of a message nearest to the fact: the file's name, or the sentence that shares most words."""
    name = fact.text.rpartition("/")[2]
    if fact.kind == "path" and name and name in successor.text:
        return name
    words = content_words(fact.text)
    if fact.kind not in SENTENCES or not words:
        return ""
    spoken = [
        sentence for sentence in sentences(successor.text) if len(sentence) <= _LONGEST_SENTENCE
    ]
    best = Passages((sentence, content_words(sentence)) for sentence in spoken).best(words)
    return best.sentence if best.share >= _LEAST_SHARE else ""


def _place_again(page: LossPage, entry: LossEntry) -> FactPlace:
    use = entry.use
    if use is None:
        return FactPlace("No later request needed the fact")
    pair = (page.messages.get(use.message), page.messages.get(use.result))
    messages = tuple(message for message in pair if message is not None)
    tokens = f", {use.tokens:,} tokens came back" if use.tokens else ""
    title = f"{entry.caller}, request {use.request:,}{tokens}"
    more = len(entry.row.needed) - 1
    note = f"{plural(more, 'later request')} needed the fact, too." if more else ""
    passage = _find_passage(entry.row.fact.text, messages)
    return FactPlace(title, messages, passage, note, use.request, use.message)
