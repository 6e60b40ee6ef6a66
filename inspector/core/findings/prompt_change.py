"""Find the first difference between the prompts of two requests, after which no cache can be read."""

from dataclasses import dataclass

from inspector.core.buffer import Prompt
from inspector.core.diff import line_diff, message_lines
from inspector.core.drops import find_parting
from inspector.core.findings.break_words import say_tools_changed
from inspector.core.message import Message
from inspector.core.prefix import common_length
from inspector.core.session import Request
from inspector.core.words import plural

_MOST_LINES, _LONGEST_LINE = 6, 120


@dataclass(frozen=True, slots=True)
class PromptChange:
    """The first difference between two prompts."""

    sentence: str
    place: int | None = None
    """Place of the changed message in the buffer; None if the prompt was only extended, or changed before it."""
    message: str = ""
    """Id of the changed message; empty if there is none."""
    diff: tuple[str, ...] = ()
    """The changed lines of that message, with - or + before them; a long diff ends in an ellipsis."""


def find_prompt_change(former: Request, request: Request) -> PromptChange:
    """Describe where the prompt of a request first differs from that of an earlier one. O(the changed messages)."""
    before = former.prompt
    now = request.prompt
    if _differ(before.system, now.system):
        return _describe_system_change(before.system or "", now.system or "")
    if _differ(before.tools, now.tools):
        removed, added, changed = compare_tools(before, now)
        return PromptChange(say_tools_changed(removed, added, changed))
    same, changes = find_parting(former.view, request.view)
    is_changed = changes.lost or changes.faded or changes.changed
    if same >= len(former.view) or not is_changed:
        return PromptChange(_describe_extension(former, request))
    old = former.view.tail(same)[0]
    new = next(iter(request.view.tail(same)), None)
    return _describe_message(old, new, same, len(former.view))


def _differ(before: object, now: object) -> bool:
    """Are both values recorded, and different?"""
    return before is not None and now is not None and before != now


def _describe_system_change(before: str, now: str) -> PromptChange:
    character = common_length(before, now)
    sentence = f"The system prompt differs from character {character:,} of {len(before):,} on."
    return PromptChange(sentence, diff=changed_lines(before, now))


def _describe_extension(former: Request, request: Request) -> str:
    added = len(request.view) - len(former.view)
    unchanged = plural(len(former.view), "message")
    if added <= 0:
        return f"The prompt is the same as that of request {former.index:,}: {unchanged}."
    verb = "follows" if added == 1 else "follow"
    return f"The prompt of request {former.index:,} is unchanged ({unchanged}); {plural(added, 'message')} {verb}."


def compare_tools(former: Prompt, now: Prompt) -> tuple[list[str], list[str], list[str]]:
    """Return the names of the tools that were removed, added and changed."""
    before = {tool.name: tool.definition for tool in former.tools or ()}
    after = {tool.name: tool.definition for tool in now.tools or ()}
    removed = [name for name in before if name not in after]
    added = [name for name in after if name not in before]
    changed = [name for name in before if name in after and before[name] != after[name]]
    return removed, added, changed


def _describe_message(old: Message, new: Message | None, place: int, count: int) -> PromptChange:
    """Describe how the message at a place changed; `new` is None if the prompt ends before that message."""
    where = f"message {place:,} of {count:,}"
    if new is None:
        return PromptChange(f"The prompt ends before {where}.", place, old.id)
    old_text = message_lines(old)
    new_text = message_lines(new)
    if old_text == new_text:
        return PromptChange(
            f"The prompt differs from {where} on, in content that is not text.", place, new.id
        )
    character = common_length(old_text, new_text)
    sentence = (
        f"The prompt differs from {where} on, at character {character:,} of {len(old_text):,}."
    )
    return PromptChange(sentence, place, message=new.id, diff=changed_lines(old_text, new_text))


def changed_lines(before: str, after: str) -> tuple[str, ...]:
    """Return the first lines that differ, each after a - or a +; a longer list ends in an ellipsis."""
    lines: list[str] = []
    for run in line_diff(before, after):
        if run.mark != " ":
            lines += [f"{run.mark} {text[:_LONGEST_LINE]}" for text in run.lines]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = ["…"]
    return tuple(lines)
