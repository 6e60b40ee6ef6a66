"""What the simulated provider answers: a summary if one is asked for, otherwise the agent's script.

The decision depends only on the words of the conversation, and the same conversation gets the same answer. Summaries
come from the offline summariser and say so.
"""

import base64
import re
import zlib
from collections.abc import Sequence

from inspector.core.dialects.dialect import answer_schema
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Opaque, Text
from inspector.core.needs import Summarize
from inspector.core.offline import summarise
from inspector.core.words import plural
from inspector.simulated.agent import counted, next_move
from inspector.simulated.arguments import ArgumentSource, fill, lower_types
from inspector.simulated.call import SimulatedAnswer, SimulatedCall
from inspector.simulated.demo import MODEL, next_step
from inspector.simulated.verdicts import answer_verdicts

LABEL = "(simulated)"

_ASKS = re.compile(
    r"(?is)respond with text only|context checkpoint compaction|context summari[sz]ation assistant"
    r"|\b(?:create|write|provide|produce|generate|give|make)\b[^.\n]{0,60}\bsummary\b"
    r"|\bsummari[sz]e\b|\bkeep the memory of\b|\bcomp(?:act|ress) the\b|\bcheckpoint of this conversation\b"
    r"|\b(?:write|generate|correct)\b[^.\n]{0,60}<state_snapshot>"
)
_GOES_ON = re.compile(
    r"\s*(?:This session is being continued|Another language model|The conversation history before)"
)
"""Matches how clients pass a summary on: such a message mentions a summary but does not ask for one."""
_HEADERS = ("Goal:", "Accomplished:", "Key Decisions:", "Relevant Files:")


def speak(call: SimulatedCall) -> SimulatedAnswer:
    """Return the simulated answer to a call."""
    verdicts = answer_verdicts(_last_request(call))
    if verdicts is not None:
        return SimulatedAnswer(verdicts)
    if asks_for_summary(call):
        return SimulatedAnswer(_summary(call))
    if call.buffer.prompt.tools:
        return _put_in_form(next_step(call) if call.model == MODEL else next_move(call), call)
    return _put_in_form(SimulatedAnswer(_chat(call.buffer.messages)), call)


def _put_in_form(spoken: SimulatedAnswer, call: SimulatedCall) -> SimulatedAnswer:
    """Return the text in the form that was asked for: a JSON document of a schema (a title, a verdict)."""
    schema = None if spoken.calls else lower_types(answer_schema(call.body))
    words = tuple(re.findall(r"[A-Za-z]{4,40}", spoken.text)) or ("simulated",)
    if schema:
        return SimulatedAnswer(
            dumps(fill(schema, ArgumentSource(("README.md",), words, lines=(), turn=0)))
        )
    return spoken


def _last_request(call: SimulatedCall) -> str:
    last = call.buffer.messages[-1] if call.buffer.messages else None
    return last.text if last is not None and last.role == "user" else ""


def asks_for_summary(call: SimulatedCall) -> bool:
    """Does the call ask for a summary?

    With tools, only the newest user message can ask for one; without tools, the system prompt can, too.
    """
    request = _last_request(call)
    if _GOES_ON.match(request):
        return False
    if not call.buffer.prompt.tools:
        request = f"{call.buffer.prompt.system or ''}\n{request[:4_000]}\n{request[-4_000:]}"
        if all(header in request for header in _HEADERS):
            return True
    return bool(_ASKS.search(request))


def _summary(call: SimulatedCall) -> str:
    """Return a summary of the conversation before the request, in the tags that were asked for.

    If the client wrote the conversation into the request itself, that text is summarised.
    """
    messages = [message for message in call.buffer.messages if message.role != "system"]
    if len(messages) > 1:
        text = _summary_text(Summarize("", "", source=tuple(messages[:-1])), messages[:-1])
    else:
        text = _summary_text(
            Summarize("", _USER.sub("User: ", messages[0].text) if messages else ""), messages
        )
    request = f"{call.buffer.prompt.system or ''}\n{messages[-1].text if messages else ''}"
    return next(
        (f"<{tag}>\n{text}\n</{tag}>" for tag, mark in _TAGS.items() if mark in request), text
    )


_TAGS = {"summary": "<analysis>", "state_snapshot": "<state_snapshot>"}
"""For each tag, a text that a request for this tag contains."""
_USER = re.compile(r"(?m)^\[User\]: ")


def _summary_text(need: Summarize, messages: Sequence[Message]) -> str:
    return f"{summarise(need)}\n{counted(messages)}" if messages else summarise(need)


def _chat(messages: Sequence[Message]) -> str:
    requests = [
        message.text for message in messages if message.role == "user" and message.text.strip()
    ]
    last = " ".join(requests[-1].split())[:200] if requests else "nothing"
    read = plural(len(messages), "message")
    return f"{LABEL} I have read {read}. The last thing you said was: {last}"


def seal_summary(messages: Sequence[Message]) -> str:
    """Return the content of a remote compaction: a compressed offline summary that only the provider can read."""
    text = _summary_text(Summarize("", "", source=tuple(messages)), messages)
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"))).decode()


def unseal(message: Message) -> Message:
    """Return the message with sealed compactions replaced by the text that the model reads."""
    parts = tuple(
        _open_sealed(part) if isinstance(part, Opaque) else part for part in message.parts
    )
    if parts == message.parts:
        return message
    return Message(message.id, message.role, parts, summary=True)


def _open_sealed(part: Opaque) -> Opaque | Text:
    sealed = part.value.get("encrypted_content") if isinstance(part.value, dict) else None
    if not isinstance(sealed, str):
        return part
    unpack = zlib.decompressobj()
    try:
        text = unpack.decompress(base64.b64decode(sealed, validate=True), 1_000_000)
    except (ValueError, zlib.error):
        return part  # another provider sealed it
    return Text(text.decode("utf-8", "replace"))
