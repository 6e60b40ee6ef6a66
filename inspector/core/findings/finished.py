"""Decide which instructions and errors were finished before a compaction, so that losing them costs nothing.

An instruction for a single step (`facts.steps`) is finished when a later command does it, or when the user writes
another message. A task, or a rule for the present work, is finished when the user has written two more messages. Any
instruction that is not permanent is finished when the agent, or a summary, says that it was done and the user then
wrote another message. An error is finished when the same command, or the same tool on the same file, succeeds later.
The error of a call that only looked something up is finished when any later call succeeds.

Things that the agent made outside the files (a pull request, an issue) are finished, too, but only the conversation
holds their addresses.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from inspector.core.calls import command_of, looks_only, path_of
from inspector.core.facts.coverage import content_words
from inspector.core.facts.fact import Fact
from inspector.core.facts.sentences import sentences
from inspector.core.facts.steps import is_lasting, is_passing, is_step, is_task
from inspector.core.facts.user_words import SCANNED, user_words
from inspector.core.facts.wording import CARRIED
from inspector.core.message import Message, ToolCall

_ACTS = re.compile(
    r"\b(?:commit|push|merge|rebase|tag|install|deploy|publish|revert)\b", re.IGNORECASE
)
"""Verbs of instructions that are also names of commands."""
_COMMAND = re.compile(r"\s*(?:sudo |[A-Z_]+=\S+ )*([\w./-]+(?: -\S+)*(?: [^\s;&|]+)?)")
_FOLDER = re.compile(r"^\s*cd [^;&|]+(?:&&|;)\s*")
_OF_THE_MOMENT = "It mattered only at that moment: the user then moved on to other things."
_LOOK = "look"
"""The kind of work of calls that only look something up."""
_WENT_ON = 2
"""Number of later messages of the user after which a task counts as finished."""
_QUOTED_ITEM = re.compile(r"(?m)^\s*(?:[-*•]|\d{1,3}[.)])\s*[\"“]")
"""Matches the beginning of a user message that a summary quotes in a list."""
_COMPLETED = re.compile(
    r"(?i)[✓✅☑]|\[x\]|\b(?:done|completed?|fixed|added|implemented|removed|renamed|updated|created|moved|replaced"
    r"|committed|pushed|merged|wrote|written)\b|已(?:完成|修复|添加|实现|删除|更新|提交)|完成了|修好了|加上了"
)
_OPEN = re.compile(
    r"(?i)\b(?:not|never|yet|pending|todo|should|will|would|needs?|must|can|could|if|want\w*|ask\w*|request\w*)\b"
    r"|n['’]t\b|未|没|需要|应该"
)
"""A sentence with one of these words does not say that something was done."""
_LEAST_WORDS = 3
"""Smallest number of content words of an instruction that can be matched with a sentence that says it was done."""


class FinishedWork:
    """Decides which instructions and errors in a buffer were finished there. O(messages) at first use, then O(1)."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {message.id: place for place, message in enumerate(self._messages)}

    @cached_property
    def _speeches(self) -> Sequence[int]:
        """Places of the messages that hold words of the user."""
        return [place for place, message in enumerate(self._messages) if _is_speech(message)]

    @cached_property
    def _acts(self) -> Mapping[str, Sequence[int]]:
        """Places of the messages whose commands contain one of the verbs of `_ACTS`, by verb."""
        places: dict[str, list[int]] = {}
        for place, message in enumerate(self._messages):
            for call in message.calls:
                for act in _ACTS.findall(command_of(call)):
                    places.setdefault(act.lower(), []).append(place)
        return places

    @cached_property
    def _work(self) -> tuple[Mapping[int, str], Mapping[str, int]]:
        """Return the kind of work of the result at each place, and the last place where each kind succeeded."""
        calls = dict[str, str]()
        kinds = dict[int, str]()
        succeeded = dict[str, int]()
        for place, message in enumerate(self._messages):
            for call in message.calls:
                calls[call.id] = _kind_of_work(call)
            result = message.result
            kind = calls.get(result.call_id, "") if result is not None else ""
            if result is None or not kind:
                continue
            if result.is_error or kind != _LOOK:  # an error text that a look-up shows is no failure
                kinds[place] = kind
            if not result.is_error:
                succeeded[kind] = succeeded[_LOOK] = place
        return kinds, succeeded

    def reason(self, fact: Fact, message: str) -> str:
        """Return why an instruction or an error is finished, as a sentence; empty if it is open, or not known.

        Args:
            fact: An instruction, a constraint or an error in the buffer.
            message: Id of the message that holds it.
        """
        place = self._places.get(message)
        if place is None:
            return ""
        match fact.kind:
            case "error":
                return self._success(place)
            case "instruction":
                return self._reason_of_instruction(fact.text, place)
            case "constraint" if is_passing(fact.text) and self._has_gone_on(place, fact.text):
                return _OF_THE_MOMENT
        return ""

    def _reason_of_instruction(self, text: str, place: int) -> str:
        why = self._step(text, place) if is_step(text) else ""
        if why:
            return why
        if is_task(text) and self._has_gone_on(place, text):
            return _OF_THE_MOMENT
        if self._is_completed(text, place):
            return "The agent reported it as done, and the user moved on."
        return ""

    def _success(self, place: int) -> str:
        """Return which later success finished the error at a place, as a sentence; empty if none did."""
        kinds, succeeded = self._work
        kind = kinds.get(place, "")
        if succeeded.get(kind, -1) <= place:
            return ""
        return (
            "The command only read something."
            if kind == _LOOK
            else "The same command succeeded later."
        )

    def _has_gone_on(self, place: int, text: str) -> bool:
        """Did the user write enough later messages for a task to count as finished?

        Text that a summary quotes is older than the summary, so one later message is enough for it.
        """
        later = self._speeches_after(place)
        message = self._messages[place]
        if not message.summary:
            return later >= _WENT_ON
        return later > 0 or _items_after(message.text, text) >= _WENT_ON

    def _speeches_after(self, place: int) -> int:
        return len(self._speeches) - bisect_right(self._speeches, place)

    def _is_completed(self, text: str, place: int) -> bool:
        """Did the agent, or a summary, say that an instruction was done, and did the user then write a message?"""
        words = content_words(text)
        if len(words) < _LEAST_WORDS or is_lasting(text):
            return False
        least_count = CARRIED * len(words)
        for at, done in self._completions:
            if at >= place and len(words & done) >= least_count and self._speeches_after(at):
                return True
        return False

    @cached_property
    def _completions(self) -> Sequence[tuple[int, frozenset[str]]]:
        """Return the place and the content words of each sentence that says that something was done."""
        completions = list[tuple[int, frozenset[str]]]()
        for place, message in enumerate(self._messages):
            if not message.summary and message.role != "assistant":
                continue
            for sentence in sentences(message.text[:SCANNED]):
                if _COMPLETED.search(sentence) and not _OPEN.search(sentence):
                    completions.append((place, content_words(sentence)))
        return completions

    def _step(self, text: str, place: int) -> str:
        for act in _ACTS.findall(text):
            if any(later > place for later in self._acts.get(act.lower(), ())):
                return f"A later command completed it ({act.lower()})."
        if self._speeches_after(place):
            return "It was a step of that moment: the user then moved on."
        return ""


def _items_after(summary: str, text: str) -> int:
    """Return how many user messages a summary lists after the message with this text. O(text)."""
    at = summary.rfind(text[:_HEAD])
    return len(_QUOTED_ITEM.findall(summary, at + len(text))) if at >= 0 else 0


_HEAD = 60
"""Number of first characters by which a sentence is found in a summary, which may shorten the sentence."""
_MAKES = re.compile(
    r"\b(?:gh (?:pr|issue|release|gist) create|glab (?:mr|issue) create|hub pull-request)\b"
)
_MAKING_TOOL = re.compile(
    r"(?i)(?:create|open|submit|file)_?(?:issue|pull|pr\b|merge|ticket|release|page|document)"
)
_TICKET = re.compile(r"\b[A-Z][A-Z0-9]{1,9}-\d{1,6}\b")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\)\]}]+")


def find_made_outside(messages: Iterable[Message]) -> frozenset[str]:
    """Return the addresses and ticket numbers of things that calls made outside the files. O(messages)."""
    making = set[str]()
    names = set[str]()
    for message in messages:
        making.update(call.id for call in message.calls if _makes_outside(call))
        result = message.result
        if result is not None and result.call_id in making and not result.is_error:
            matches = (_ADDRESS.search(result.content), _TICKET.search(result.content))
            names.update(match[0].rstrip(".,;:") for match in matches if match is not None)
    return frozenset(names)


def _makes_outside(call: ToolCall) -> bool:
    command = command_of(call)
    if command:
        return _MAKES.search(command) is not None
    return _MAKING_TOOL.search(call.name) is not None


def _kind_of_work(call: ToolCall) -> str:
    """Return the name of the tool with its file, else with the program that it runs and the first argument."""
    if looks_only(call):
        return _LOOK
    path = path_of(call)
    if path:
        return f"{call.name} {path}"
    command = _FOLDER.sub("", command_of(call))
    program = _COMMAND.match(command)
    return f"{call.name} {program[1]}" if program else call.name


def _is_speech(message: Message) -> bool:
    """Does a message hold words of the user other than the rejection of a call?"""
    if message.role not in ("user", "tool"):
        return False
    return any(words.place != "rejection" for words in user_words(message))
