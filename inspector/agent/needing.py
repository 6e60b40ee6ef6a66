"""A tier's need: met by the run's provider, by the offline summariser, or by the person; by our own hands where it is
about files. Told in the journal, with what came back.
"""

from dataclasses import replace
from typing import Any

from inspector.agent import calling
from inspector.agent.run import Run
from inspector.core.answering import offline
from inspector.core.buffer import Buffer
from inspector.core.needs import (
    Answer,
    Failure,
    Need,
    ProviderFailure,
    ReadFile,
    RemoteCompact,
    SaveText,
    SaveTranscript,
    Summarize,
)
from inspector.core.recording import write_reply

_NO_SUCH = (404, 405, 501)
"""What a server says of an endpoint that it does not have."""


def meet(run: Run, thread: str, need: Need, buffer: Buffer) -> Answer:
    """The answer. Raises Failure, Stopped."""
    run.controls.check()
    run.journal.told("need", thread=thread, **_told(need))
    try:
        reply = _met(run, thread, need, buffer)
    except Failure as failure:
        run.journal.told("reply", thread=thread, reply=write_reply(failure))
        raise
    run.journal.told("reply", thread=thread, reply=write_reply(reply))
    return reply


def _met(run: Run, thread: str, need: Need, buffer: Buffer) -> Answer:
    if not isinstance(need, Summarize | RemoteCompact):
        return run.models.by_hands(need)
    match run.controls.needs_by:
        case "hand":
            return _by_hand(run, need)
        case "offline":
            return offline(need)
        case "provider":
            return _by_provider(run, thread, need, buffer)


def _by_provider(run: Run, thread: str, need: Need, buffer: Buffer) -> Answer:
    """A provider that has no way to compact is known by that from here on: the failure itself is the tier's."""
    try:
        return calling.meet(run, thread, need, buffer)
    except ProviderFailure as failure:
        if isinstance(need, RemoteCompact) and failure.status in _NO_SUCH:
            run.remote = False
            run.journal.told("remote", thread=thread, possible=False, why=str(failure))
        raise


def _by_hand(run: Run, need: Need) -> Answer:
    """The person's answer. Raises Failure where they fail it."""
    run.controls.open_need()
    run.voice.say(state="needing", need=need)
    try:
        reply = run.controls.reply()
    finally:
        run.voice.say(state="tier", need=None)
    if isinstance(reply, Failure):
        raise reply
    return reply if reply.by else replace(reply, by="person")


def _told(need: Need) -> dict[str, Any]:
    """In a few words: the whole of it follows from the buffer and the settings."""
    match need:
        case Summarize(instructions=instructions, text=text, messages=messages, purpose=purpose):
            size = {"instructions_chars": len(instructions), "text_chars": len(text), "messages": len(messages)}
            return {"need": "summarize", "purpose": purpose, **size, "timeout_s": need.timeout_s}
        case RemoteCompact(messages=messages):
            return {"need": "remote_compact", "messages": len(messages), "timeout_s": need.timeout_s}
        case ReadFile(path=path):
            return {"need": "read_file", "path": path}
        case SaveTranscript(messages=messages, name=name):
            return {"need": "save_transcript", "name": name, "messages": len(messages)}
        case SaveText(text=text, name=name):
            return {"need": "save_text", "name": name, "text_chars": len(text)}
        case _:
            return {"need": type(need).__name__}
