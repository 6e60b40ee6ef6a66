"""A message as sections of plain text: each part under a small heading that says what it is. No Qt here.

The arguments and the result of a tool have the language of the file that the call names or of the command that it runs.
If neither says the language, they have none, because prose that is coloured as code misleads.
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
from inspector.core.message import (
    Image,
    Json,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    part_text,
)
from inspector.core.words import plural
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.visible import line
from inspector.gui.widgets.code import has_line_numbers, language_of
from inspector.gui.widgets.pieces import Section
from inspector.workbench.tool_pairs import PairedPart

CopyForm: TypeAlias = Literal["text", "json", "markdown"]


def message_sections(
    message: Message, partners: Sequence[PairedPart | None] = ()
) -> tuple[Section, ...]:
    """Return the sections that the plain-text view shows of a message, in the order of its parts.

    Images are named, not shown.

    Args:
        partners: for each part, the call that it answers, shown before it, or its result, shown after it. Empty: none.
    """
    if not message.parts:
        return (Section("an empty message"),)
    return tuple(_sections(message, partners or (None,) * len(message.parts)))


def message_images(message: Message) -> tuple[Image, ...]:
    """Return the images of a message, in order."""
    return tuple(part for part in message.parts if isinstance(part, Image))


def original(message: Message) -> str:
    """Return the message's own text, part by part, as "copy message" puts it on the clipboard."""
    return "\n\n".join(text for part in message.parts if (text := part_original(part)))


def markdown_text(message: Message) -> str:
    """Return the text of a message that is prose, to be shown as Markdown; empty for one with calls or results."""
    if message.mark or not all(isinstance(part, Text | Thinking | Image) for part in message.parts):
        return ""
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    if not any(text.strip() for text in texts):
        return ""
    thoughts = [
        part.text for part in message.parts if isinstance(part, Thinking) and part.text.strip()
    ]
    return "\n\n".join([*(f"**Thinking**\n\n{thought}\n\n---" for thought in thoughts), *texts])


def attached_path(message: Message, text: str) -> str:
    """Return the path of the file that the client attached in a text of the message; empty for any other text."""
    if message.mark != "attachment":
        return ""
    named = ATTACHED_FILE.fullmatch(text.partition("\n")[0].rstrip())
    return named["path"] if named is not None else ""


def part_original(part: Part) -> str:
    """Return the original text of a part; compact JSON if it is a value; empty for an image."""
    if isinstance(part, ToolCall):
        return _value_text(part.arguments)
    if isinstance(part, Opaque) and not part.text:
        return _value_text(part.value)
    return part_text(part)


def _value_text(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value)


def copied(message: Message, form: CopyForm) -> str:
    """Return all parts of a message, in a form for the clipboard."""
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


def _partner_sections(
    partner: PairedPart | None, call: ToolCall | None = None
) -> Iterator[Section]:
    """Yield the sections of the call that a result answers, or of the result of a call."""
    if partner is None:
        return
    part = partner.part
    text = part_original(partner.part)
    if isinstance(part, ToolCall):
        yield from _call_sections(
            f"answers the call of {line(part.name)} · message {partner.place:,}", part
        )
    else:
        error = "error · " if part.is_error else ""
        heading = f"result of this call · message {partner.place:,} · {error}{plural(len(text), 'character')}"
        yield Section(heading, text, "code", *result_language(call, part))


def _sections(message: Message, partners: Sequence[PairedPart | None]) -> Iterator[Section]:
    count = len(message_images(message))
    number = 0
    for part, partner in zip(message.parts, partners, strict=True):
        if isinstance(part, Image):
            number += 1
            which = f"image {number} of {count}" if count > 1 else "image"
            yield Section(f"{which} · {line(part.media_type)} · see below")
        else:
            yield from _part_sections(message, part, partner)


def _part_sections(message: Message, part: Part, partner: PairedPart | None) -> Iterator[Section]:
    """Yield the sections of a part that is not an image."""
    text = part_original(part)
    match part:
        case Text():
            yield _text_section(message, text)
        case Thinking(signature=signature):
            yield Section(_thinking_heading(text, signature), text)
        case ToolCall(id=call_id, name=name):
            yield from _call_sections(f"tool call · {line(name)} · {line(call_id)}", part)
            yield from _partner_sections(partner, part)
        case ToolResult(call_id=call_id, is_error=is_error):
            yield from _partner_sections(partner)
            error = "error · " if is_error else ""
            heading = f"tool result · {error}{plural(len(text), 'character')} · {line(call_id)}"
            call = partner.part if partner else None
            yield Section(heading, text, "code", *result_language(call, part))
        case Opaque(kind=kind) if part.text:
            yield Section(f"summary · {line(kind)}, by the provider", part.text)
        case Opaque(kind=kind, size=size):
            heading = (
                f"opaque · {line(kind)} · {grouped(size)} bytes, readable by the provider only"
            )
            yield Section(heading, text, "code")


def _text_section(message: Message, text: str) -> Section:
    """Return a text as prose, or as code if it is an attached file, whose first line names it."""
    length = plural(len(text), "character")
    path = attached_path(message, text)
    if not path:
        return Section(f"text · {length}", text)
    first_line = len(text.partition("\n")[0]) + 1
    return Section(
        f"attached file · {length}",
        text,
        look="code",
        language=_language_of_path(path),
        before=first_line,
    )


_DEPTH = 4
"""Most levels of nested arguments in which texts of several lines are moved to sections of their own."""
_CHANGES = (
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("oldText", "newText"),
    ("oldString", "newString"),
)
"""Names that editing tools use for the text to remove and the text to insert."""


def _call_sections(heading: str, call: ToolCall) -> Iterator[Section]:
    """Yield the arguments as JSON and, below it, their texts of several lines, which JSON would put into one line."""
    texts: list[Section] = []
    arguments = call.arguments
    if not isinstance(arguments, str):
        arguments = dumps(_move_texts(arguments, texts))
    yield Section(heading, arguments, "code")
    yield from texts


def _move_texts(value: Json, texts: list[Section], path: str = "", depth: int = _DEPTH) -> Json:
    """Return the value with an arrow in place of each text of several lines, and append these texts to `texts`.

    The two texts of a change become one diff.
    """
    if not depth:
        return value
    if isinstance(value, list):
        return [
            _move_texts(inner, texts, path=f"{path}[{index}]", depth=depth - 1)
            for index, inner in enumerate(value)
        ]
    if not isinstance(value, Mapping):
        return value
    remaining = {**value}
    for old_name, new_name in _CHANGES:
        old = value.get(old_name)
        new = value.get(new_name)
        if isinstance(old, str) and isinstance(new, str) and (_has_lines(old) or _has_lines(new)):
            remaining[old_name] = remaining[new_name] = "↓ as a diff"
            heading = f"{path} {old_name} → {new_name}".strip()
            texts.append(Section(line(heading), _diff_text(old, new), "diff"))
    for name, inner in remaining.items():
        inner_path = f"{path} {name}".strip()
        if _has_lines(inner):
            remaining[name] = f"↓ {plural(len(inner), 'character')}"
            texts.append(
                Section(
                    line(inner_path),
                    text=inner,
                    look="code",
                    language=argument_language(str(name), value),
                )
            )
        else:
            remaining[name] = _move_texts(inner, texts, inner_path, depth=depth - 1)
    return remaining


def _diff_text(old: str, new: str) -> str:
    lines = list[str]()
    for run in line_diff(old, new):
        lines += [f"{run.mark}{row}" for row in run.lines]
    return "\n".join(lines)


def _has_lines(value: Json) -> TypeGuard[str]:
    return isinstance(value, str) and "\n" in value.strip()


def _thinking_heading(text: str, signature: str) -> str:
    length = plural(len(text), "character") if text else "hidden by the provider"
    signed = (
        f" · signature of {plural(len(signature), 'character')}, not shown" if signature else ""
    )
    return f"thinking · {length}{signed}"


_PLAIN = ("description", "prompt", "message", "explanation", "thought", "pattern", "query")
"""Names of arguments that are not the content of a file."""
_PRINTS = frozenset(("cat", "head", "tail", "nl", "sed"))
_MOST = 1_000
"""Most characters of a command that are parsed."""
_OUTPUT = re.compile(r"(?:^|\n)(?:Final )?Output:\n")
"""What tools write between the result of a command and its output."""


def argument_language(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the language of an argument of a call; empty if unknown."""
    if name in COMMAND_KEYS:
        return "bash"
    if name in _PLAIN:
        return ""
    named = arguments.get("language")
    language = language_of(named) if isinstance(named, str) else ""
    return language or _language_of_path(first_text(arguments, FILE_KEYS))


def result_language(call: object, result: ToolResult) -> tuple[str, int]:
    """Return the language of a result, and after how many characters its code begins.

    It is the language of the file that was read, or that a command printed.
    """
    if not isinstance(call, ToolCall) or not isinstance(call.arguments, Mapping) or result.is_error:
        return "", 0
    arguments = call.arguments
    language = _language_of_path(first_text(arguments, FILE_KEYS))
    if language:
        others = [
            name
            for name, value in arguments.items()
            if isinstance(value, str) and name not in FILE_KEYS
        ]
        return (language, 0) if has_line_numbers(result.content) or not others else ("", 0)
    begins = _OUTPUT.search(result.content, 0, _MOST)
    return _language_of_path(_printed_path(command_of(call))), begins.end() if begins else 0


def _language_of_path(path: str) -> str:
    """Return the language of a file; empty for a folder, even if it has the name of a language."""
    name = PurePath(path[-300:].replace("\\", "/")).name
    return language_of(name) if "." in name or name.endswith("file") else ""


def _printed_path(command: str) -> str:
    """Return the path of the file that a command prints; empty if the command does anything else."""
    if len(command) > _MOST:
        return ""
    try:
        words = shlex.split(command.rpartition("&&")[2])
    except ValueError:
        return ""
    if "|" in words and words[0] == "nl":
        words = words[: words.index("|")]
    is_simple = words and words[0] in _PRINTS and not {"|", ";", ">", ">>", "||", "<<"} & {*words}
    return words[-1] if is_simple else ""
