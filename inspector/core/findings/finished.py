"""What was finished before a compaction: then its loss costs nothing.

A step of the moment (`facts.steps`) is finished when the user says something else after it, or when a later
command does what it says. An error is finished when the same command, or the same tool on the same file, succeeds
later.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property

from inspector.core.calls import command_of, path_of
from inspector.core.facts.fact import Fact
from inspector.core.facts.steps import is_step
from inspector.core.facts.user_words import user_words
from inspector.core.message import Message, ToolCall

_ACTS = re.compile(r"\b(?:commit|push|merge|rebase|tag|install|deploy|publish|revert)\b", re.IGNORECASE)
"""Acts that a command does by the same name."""
_COMMAND = re.compile(r"\s*(?:sudo |[A-Z_]+=\S+ )*([\w./-]+(?: -\S+)*(?: [^\s;&|]+)?)")
_FOLDER = re.compile(r"^\s*cd [^;&|]+(?:&&|;)\s*")


class FinishedWork:
    """Decides which wishes and errors of a buffer were finished in it. O(messages) at first use, then O(1)."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {message.id: place for place, message in enumerate(self._messages)}

    @cached_property
    def _speeches(self) -> Sequence[int]:
        """Places of the messages in which the user says something."""
        return [place for place, message in enumerate(self._messages) if _is_speech(message)]

    @cached_property
    def _acts(self) -> Mapping[str, Sequence[int]]:
        """Places of the commands that do something, by what they do."""
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
        kinds, succeeded = dict[int, str](), dict[str, int]()
        for place, message in enumerate(self._messages):
            for call in message.calls:
                calls[call.id] = _kind_of_work(call)
            result = message.result
            if result is not None and (kind := calls.get(result.call_id, "")):
                kinds[place] = kind
                if not result.is_error:
                    succeeded[kind] = place
        return kinds, succeeded

    def reason(self, fact: Fact, message: str) -> str:
        """Say why a wish or an error is finished; empty if it is open, or if that is not known.

        Args:
            fact: A wish or an error of the buffer.
            message: Id of the message that holds it.
        """
        place = self._places.get(message)
        if place is None:
            return ""
        if fact.kind == "instruction" and is_step(fact.text):
            return self._step(fact.text, place)
        if fact.kind == "error":
            kinds, succeeded = self._work
            if succeeded.get(kinds.get(place, ""), -1) > place:
                return "The same command succeeded later."
        return ""

    def _step(self, text: str, place: int) -> str:
        for act in _ACTS.findall(text):
            if any(later > place for later in self._acts.get(act.lower(), ())):
                return f"A later command did it ({act.lower()})."
        if bisect_right(self._speeches, place) < len(self._speeches):
            return "A step of the moment: the user went on after it."
        return ""


def _kind_of_work(call: ToolCall) -> str:
    """Return the tool with its file, else with the program that it runs and the program's first argument."""
    if path := path_of(call):
        return f"{call.name} {path}"
    command = _FOLDER.sub("", command_of(call))
    program = _COMMAND.match(command)
    return f"{call.name} {program[1]}" if program else call.name


def _is_speech(message: Message) -> bool:
    """Does the user say something in a message, apart from refusing a call?"""
    if message.role not in ("user", "tool"):
        return False
    return any(words.place != "rejection" for words in user_words(message))
