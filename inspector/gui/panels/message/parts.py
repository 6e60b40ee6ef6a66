"""A message as sections of plain text: each part under a small heading that says what it is. No Qt here.

What a tool was handed and gave back has the language of its call: of the file it names, of the command it runs. No
language where that is not said: prose that is coloured as code misleads.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal, TypeAlias, TypeGuard

from inspector.core.calls import ATTACHED_FILE, COMMAND_KEYS, FILE_KEYS, command_of, first_text
from inspector.core.dialects.neutral import write_message
from inspector.core.diff import line_diff
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Json, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult, part_text
from inspector.core.words import plural
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.visible import line
from inspector.gui.widgets.code import has_line_numbers, language_of
from inspector.gui.widgets.pieces import Section
from inspector.workbench.tool_pairs import PairedPart

CopyForm: TypeAlias = Literal["text", "json", "markdown"]


def message_sections(message: Message, partners: Sequence[PairedPart | None] = ()) -> tuple[Section, ...]:
    """What the plain-text view shows of a message, in the order of its parts: a result with its call before it, a call
    with its result after it (`partners`, one a part). Images are named, not shown."""
    if not message.parts:
        return (Section("an empty message"),)
    return tuple(_sections(message, partners or (None,) * len(message.parts)))


def message_images(message: Message) -> tuple[Image, ...]:
    """The images of a message, in order."""
    return tuple(part for part in message.parts if isinstance(part, Image))


def original(message: Message) -> str:
    """The message's own text, part by part, as "copy message" puts it on the clipboard."""
    return "\n\n".join(text for part in message.parts if (text := part_original(part)))


def markdown_text(message: Message) -> str:
    """Return the text of a message that is prose, to be shown as Markdown; empty for one with calls or results."""
    if message.mark or not all(isinstance(part, Text | Thinking | Image) for part in message.parts):
        return ""
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    if not any(text.strip() for text in texts):
        return ""
    thoughts = [part.text for part in message.parts if isinstance(part, Thinking) and part.text.strip()]
    return "\n\n".join([*(f"**Thinking**\n\n{thought}\n\n---" for thought in thoughts), *texts])


def attached_path(message: Message, text: str) -> str:
    """Return the path of the file that the client attached in a text of the message; empty for any other text."""
    if message.mark != "attachment":
        return ""
    named = ATTACHED_FILE.fullmatch(text.partition("\n")[0].rstrip())
    return named["path"] if named is not None else ""


def part_original(part: Part) -> str:
    """The original text of a part; compact JSON where the wire held a value; empty for an image."""
    if isinstance(part, ToolCall) or (isinstance(part, Opaque) and not part.text):
        value = part.arguments if isinstance(part, ToolCall) else part.value
        return value if isinstance(value, str) else dumps(value)
    return part_text(part)


def copied(message: Message, form: CopyForm) -> str:
    """All parts of a message, as they are put on the clipboard."""
    if form == "text":
        return original(message)
    if form == "json":
        return json.dumps(write_message(message), ensure_ascii=False, indent=2)
    parts = [f"**{line(message.role)}**", *(_markdown(part) for part in message.parts)]
    return "\n\n".join(filter(None, parts))


def _markdown(part: Part) -> str:
    text = part_original(part)
    if isinstance(part, Text) or not text:
        return text
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    kind = "json" if isinstance(part, ToolCall) and not isinstance(part.arguments, str) else ""
    title = part.name if isinstance(part, ToolCall) else type(part).__name__
    return f"*{line(title)}*\n\n{fence}{kind}\n{text}\n{fence}"


def _paired(paired: PairedPart | None, call: ToolCall | None = None) -> Iterator[Section]:
    if paired is None:
        return
    part, text = paired.part, part_original(paired.part)
    if isinstance(part, ToolCall):
        yield from _called(f"answers the call of {line(part.name)} · message {paired.place:,}", part)
    else:
        error = "error · " if part.is_error else ""
        heading = f"its result · message {paired.place:,} · {error}{plural(len(text), 'character')}"
        yield Section(heading, text, "code", *result_language(call, part))


def _sections(message: Message, partners: Sequence[PairedPart | None]) -> Iterator[Section]:
    count = len(message_images(message))
    number = 0
    for part, partner in zip(message.parts, partners, strict=True):
        text = part_original(part)
        match part:
            case Text() if attached := attached_path(message, text):
                head = len(text.partition("\n")[0]) + 1
                heading = f"attached file · {plural(len(text), 'character')}"
                yield Section(heading, text, "code", _language_of_path(attached), head)
            case Text():
                yield Section(f"text · {plural(len(text), 'character')}", text)
            case Thinking(signature=signature):
                yield Section(_thinking(text, signature), text)
            case ToolCall(id=call, name=name):
                yield from _called(f"tool call · {line(name)} · {line(call)}", part)
                yield from _paired(partner, part)
            case ToolResult(call_id=call, is_error=is_error):
                error = "error · " if is_error else ""
                yield from _paired(partner)
                heading = f"tool result · {error}{plural(len(text), 'character')} · {line(call)}"
                yield Section(heading, text, "code", *result_language(partner.part if partner else None, part))
            case Image(media_type=media_type):
                number += 1
                which = f"image {number} of {count}" if count > 1 else "image"
                yield Section(f"{which} · {line(media_type)} · see below")
            case Opaque(kind=kind) if part.text:
                yield Section(f"summary · {line(kind)}, by the provider", part.text)
            case Opaque(kind=kind, size=size):
                yield Section(
                    f"opaque · {line(kind)} · {grouped(size)} bytes, readable by the provider only", text, "code"
                )


_DEPTH = 4
"""Levels of arguments in which a text of several lines is looked for; below, nobody reads it."""
_CHANGES = (("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"), ("oldString", "newString"))
"""What editing tools call the text that they take out and the one that they put in."""


def _called(heading: str, call: ToolCall) -> Iterator[Section]:
    """The arguments as JSON; below it their texts of several lines as the tool reads them (one line each in JSON)."""
    apart: list[Section] = []
    whole = call.arguments
    yield Section(heading, whole if isinstance(whole, str) else dumps(_without_texts(whole, apart)), "code")
    yield from apart


def _without_texts(value: Json, apart: list[Section], path: str = "", depth: int = _DEPTH) -> Json:
    """The value with a sign where a text of several lines stood; these texts, the two of a change as a diff."""
    if not depth:
        return value
    if isinstance(value, list):
        return [_without_texts(inner, apart, f"{path}[{n}]", depth - 1) for n, inner in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    left = {**value}
    for names in _CHANGES:
        old, new = (value.get(name) for name in names)
        if isinstance(old, str) and isinstance(new, str) and (_has_lines(old) or _has_lines(new)):
            left |= dict.fromkeys(names, "↓ as a diff")
            text = "\n".join(f"{run.mark}{row}" for run in line_diff(old, new) for row in run.lines)
            apart.append(Section(line(f"{path} {names[0]} → {names[1]}".strip()), text, "diff"))
    for name, inner in left.items():
        if _has_lines(inner):
            left[name] = f"↓ {plural(len(inner), 'character')}"
            heading = line(f"{path} {name}".strip())
            apart.append(Section(heading, inner, "code", argument_language(str(name), value)))
        else:
            left[name] = _without_texts(inner, apart, f"{path} {name}".strip(), depth - 1)
    return left


def _has_lines(value: Json) -> TypeGuard[str]:
    return isinstance(value, str) and "\n" in value.strip()


def _thinking(text: str, signature: str) -> str:
    signed = f" · signature of {plural(len(signature), 'character')}, not shown" if signature else ""
    return f"thinking · {plural(len(text), 'character') if text else 'hidden by the provider'}{signed}"


_PLAIN = ("description", "prompt", "message", "explanation", "thought", "pattern", "query")
"""Arguments that are not what stands in the file."""
_PRINTS = frozenset(("cat", "head", "tail", "nl", "sed"))
_MOST = 1_000
"""Characters of a command that is looked at."""
_OUTPUT = re.compile(r"(?:^|\n)(?:Final )?Output:\n")
"""What tools write between how a command went and what it wrote."""


def argument_language(name: str, arguments: Mapping[str, Any]) -> str:
    """Of one argument of a call."""
    if name in COMMAND_KEYS:
        return "bash"
    if name in _PLAIN:
        return ""
    named = arguments.get("language")
    return (language_of(named) if isinstance(named, str) else "") or _language_of_path(first_text(arguments, FILE_KEYS))


def result_language(call: object, result: ToolResult) -> tuple[str, int]:
    """Of what came back, and after how many characters it begins: of a file that was read, or printed by a command."""
    if not isinstance(call, ToolCall) or not isinstance(call.arguments, Mapping) or result.is_error:
        return "", 0
    arguments = call.arguments
    language = _language_of_path(first_text(arguments, FILE_KEYS))
    if language:
        others = [name for name, value in arguments.items() if isinstance(value, str) and name not in FILE_KEYS]
        return (language, 0) if has_line_numbers(result.content) or not others else ("", 0)
    begins = _OUTPUT.search(result.content, 0, _MOST)
    return _language_of_path(_printed(command_of(call))), begins.end() if begins else 0


def _language_of_path(path: str) -> str:
    """A folder may be called like a language."""
    name = PurePath(path[-300:].replace("\\", "/")).name
    return language_of(name) if "." in name or name.endswith("file") else ""


def _printed(command: str) -> str:
    """The file that a command does nothing but print."""
    if len(command) > _MOST:
        return ""
    try:
        words = shlex.split(command.rpartition("&&")[2])
    except ValueError:
        return ""
    if "|" in words and words[0] == "nl":
        words = words[: words.index("|")]
    simple = words and words[0] in _PRINTS and not {"|", ";", ">", ">>", "||", "<<"} & {*words}
    return words[-1] if simple else ""
