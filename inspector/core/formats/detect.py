"""Which format is it? Each says how sure it is of the content; the surest reads the file. File names say nothing."""

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
    swe_agent,
    tau_bench,
    traces,
    traffic,
    vibe,
    vscode_chat,
)
from inspector.core.formats.format import Format, Head
from inspector.core.formats.payload import reader as payload
from inspector.core.formats.unread import recognise

FORMATS: tuple[Format, ...] = (
    claude_code.FORMAT,
    codex.FORMAT,
    *openclaw.FORMATS,
    pi.FORMAT,
    journal.FORMAT,
    gemini_cli.FORMAT,
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
"""The one list that names the formats."""

_SURE = 0.9
"""Below this, a format that is recognised but cannot be read yet is the better explanation."""


def detect(head: Head, name: str | None = None, formats: Sequence[Format] = FORMATS) -> Format:
    """The format of that name, else the surest. Raises UnknownFormat with a sentence that names the known ones."""
    if name is not None:
        for one in formats:
            if one.name == name:
                return one
        raise UnknownFormat(f"there is no format {name!r}; choose one of {', '.join(one.name for one in formats)}")
    sureness, best = 0.0, formats[0]
    for one in formats:
        if sureness < 1.0 and (sure := one.sniff(head)) > sureness:
            sureness, best = sure, one
    if sureness < _SURE and (other := recognise(head)):
        raise UnknownFormat(f"this looks like {other}")
    if sureness <= 0:
        known = ", ".join(one.title for one in formats)
        raise UnknownFormat(f"this is no transcript that is known here; what can be read: {known}")
    return best
