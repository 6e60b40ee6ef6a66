"""Detect the format of a file. Each format rates the content, never the name; the surest format is tried first."""

from collections.abc import Sequence

from inspector.core.errors import UnknownFormat
from inspector.core.formats import (
    aider,
    atif,
    claude_code,
    cline,
    codex,
    copilot_cli,
    crush,
    gemini_cli,
    inspect_log,
    journal,
    mini_swe_agent,
    openclaw,
    opencode,
    openhands,
    pi,
    proxy,
    qwen_code,
    swe_agent,
    tau_bench,
    traces,
    traffic,
    vibe,
    vscode_chat,
)
from inspector.core.formats.foreign import chat_sentence, foreign_format
from inspector.core.formats.format import Format, Head
from inspector.core.formats.payload import reader as payload

FORMATS: tuple[Format, ...] = (
    claude_code.FORMAT,
    codex.FORMAT,
    *openclaw.FORMATS,
    pi.FORMAT,
    journal.FORMAT,
    gemini_cli.FORMAT,
    qwen_code.FORMAT,
    opencode.FORMAT,
    copilot_cli.FORMAT,
    *cline.FORMATS,
    mini_swe_agent.FORMAT,
    swe_agent.FORMAT,
    tau_bench.FORMAT,
    *openhands.FORMATS,
    inspect_log.FORMAT,
    *atif.FORMATS,
    crush.FORMAT,
    vscode_chat.FORMAT,
    vibe.FORMAT,
    aider.FORMAT,
    proxy.FORMAT,
    *payload.FORMATS,
    *traces.FORMATS,
    *traffic.FORMATS,
)
"""All formats. A new format is added here."""

SURE = 0.95
"""Sureness from which on a file has the signs of a single format, so that foreign formats are not checked."""
UNRECOGNISED = (
    "unrecognised file format. The formats that can be read are listed in docs/formats.md"
)


def detect(head: Head, name: str | None = None, formats: Sequence[Format] = FORMATS) -> Format:
    """Return the format called `name`, or the surest format if `name` is None.

    Raises:
        UnknownFormat: As for `candidates`.
    """
    return candidates(head, name, formats)[0]


def candidates(
    head: Head, name: str | None = None, formats: Sequence[Format] = FORMATS
) -> list[Format]:
    """Return the formats that may read the file, the surest first; at least one.

    Raises:
        UnknownFormat: No format is called `name`, a foreign format is surer than all formats, or the file has the
            signs of no format.
    """
    if name is not None:
        return [_named(name, formats)]
    sureness = {format_.name: format_.sniff(head) for format_ in formats}
    likely = sorted(
        (format_ for format_ in formats if sureness[format_.name] > 0),
        key=lambda format_: -sureness[format_.name],
    )
    surest = sureness[likely[0].name] if likely else 0.0
    if surest < SURE:
        foreign = foreign_format(head)
        if foreign is not None and foreign.sure > surest:
            raise UnknownFormat(foreign.sentence)
    if not likely:
        raise UnknownFormat(chat_sentence(head) or UNRECOGNISED)
    return likely


def _named(name: str, formats: Sequence[Format]) -> Format:
    for format_ in formats:
        if format_.name == name:
            return format_
    raise UnknownFormat(
        f"there is no format {name!r}; choose one of {', '.join(format_.name for format_ in formats)}"
    )
