"""Where a prompt first differs from the one before it."""

from dataclasses import replace
from functools import cache

from inspector.core.buffer import Prompt, Stretch, Tool
from inspector.core.findings.prompt_change import PromptChange, find_prompt_change
from inspector.core.message import Message, Text
from inspector.core.session import Request

SYSTEM = Prompt("be brief", (Tool("Read", {"a": 1}), Tool("Write", {})))


@cache
def message(place: int, text: str) -> Message:
    """The same object for the same message, as the readers keep it."""
    return Message(f"m{place}", "user", (Text(text),))


def request(*texts: str, prompt: Prompt = SYSTEM, index: int = 0) -> Request:
    messages = [message(place, text) for place, text in enumerate(texts)]
    return Request(index, Stretch(None, messages).view(), prompt)


def change(former: Request, later: Request) -> PromptChange:
    return find_prompt_change(former, replace(later, index=1))


def test_change_when_messages_are_only_added_counts_them() -> None:
    stretch = Stretch(None, [Message("m0", "user", (Text("one"),))])
    former = Request(0, stretch.view())
    stretch.append(Message("m1", "user", (Text("two"),)))
    assert change(former, Request(1, stretch.view())).sentence == (
        "The prompt of request 0 is unchanged (1 message); 1 message follows."
    )


def test_change_when_a_message_differs_names_its_first_character_and_lines() -> None:
    found = change(request("one", "same\nold line\nend"), request("one", "same\nnew line\nend"))
    assert found.sentence == "The prompt differs from message 1 of 2 on, at character 5 of 17."
    assert (found.place, found.message, found.diff) == (1, "m1", ("- old line", "+ new line"))


def test_change_when_the_system_prompt_differs_comes_before_messages() -> None:
    found = change(request("one"), request("two", prompt=replace(SYSTEM, system="be long")))
    assert found.sentence == "The system prompt differs from character 3 of 8 on."
    assert found.diff == ("- be brief", "+ be long")


def test_change_when_tools_differ_names_them() -> None:
    tools = (Tool("Read", {"a": 2}), Tool("Bash", {}))
    found = change(request("one"), request("one", prompt=replace(SYSTEM, tools=tools)))
    assert (
        found.sentence == "The tool definitions changed: removed Write; added Bash; changed Read."
    )
    swapped = tuple(reversed(SYSTEM.tools or ()))
    moved = change(request("one"), request("one", prompt=replace(SYSTEM, tools=swapped)))
    assert moved.sentence == "The tool definitions changed: their order."


def test_change_when_messages_are_removed_from_the_end_says_so() -> None:
    found = change(request("one", "two"), request("one"))
    assert (found.sentence, found.message) == ("The prompt ends before message 1 of 2.", "m1")
