"""How long each client waits for an answer, and what keeps it waiting.

Measured on real clients where the table says so; otherwise what the client's library is known to do. A client that
waits long without a byte is left in peace as long as it does: then its answer keeps the provider's own status and
headers. Only before its time is up the answer is begun, and pings follow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.proxy.record.records import Transport

Ping: TypeAlias = Literal["", "comment", "event"]
"""Nothing may be sent early; a comment (`: ...`); an event of the type `ping`."""
EVERY_S = 10.0
"""Seconds between two pings."""
NODE_S = 300.0
"""Seconds without a byte that Node's own `fetch` bears, before the headers and after. Measured on pi."""
LONGEST_S = 1800.0
"""Nobody is kept waiting longer, however patient."""


@dataclass(frozen=True, slots=True)
class Patience:
    """What a client bears."""

    silent_s: float
    """Seconds without a single byte, before it gives up or asks again."""
    ping: Ping = ""
    told_s: float = LONGEST_S
    """Seconds in all, as long as pings come; without meaning where none may be sent."""
    how_known: str = ""

    @property
    def begin_s(self) -> float | None:
        """When the answer must be begun, seconds after the request; None = never."""
        return self.silent_s * 0.75 if self.ping else None

    @property
    def limit_s(self) -> float:
        """When the request must go at the latest, so that the provider has time left to answer."""
        return self.told_s if self.ping else self.silent_s * 0.75


_MEASURED = "Measured on the client itself."
_SDK = "As its library is known to do; not measured."
_TABLE: Mapping[tuple[str, str], Patience] = {
    ("claude-code", "anthropic"): Patience(330, "event", how_known=_MEASURED),
    ("codex", "openai-responses"): Patience(330, "event", how_known=_MEASURED),
    ("pi", "anthropic"): Patience(300, "comment", how_known=_MEASURED),
    ("pi", "openai-chat"): Patience(300, "comment", how_known=_MEASURED),
    ("pi", "openai-responses"): Patience(300, how_known=_MEASURED),
    ("opencode", "anthropic"): Patience(300, "comment", how_known=_MEASURED),
    ("opencode", "openai-chat"): Patience(300, "comment", how_known=_MEASURED),
    ("opencode", "openai-responses"): Patience(300, "comment", how_known=_MEASURED),
    ("gemini-cli", "gemini"): Patience(60, how_known=f"{_MEASURED} Bytes sent early make it throw the answer away."),
    ("anthropic-sdk", "anthropic"): Patience(600, "event", how_known=_SDK),
    ("openai-sdk", "openai-chat"): Patience(600, "comment", how_known=_SDK),
    ("openai-sdk", "openai-responses"): Patience(600, "comment", how_known=_SDK),
    ("litellm", "openai-chat"): Patience(600, "comment", how_known=_SDK),
    ("litellm", "anthropic"): Patience(600, "event", how_known=_SDK),
    ("aider", "openai-chat"): Patience(600, "comment", how_known=_SDK),
}
_UNKNOWN: Mapping[str, Patience] = {
    "anthropic": Patience(240, "event", 300, "An unknown client: the shortest time that common libraries wait."),
    "openai-chat": Patience(240, "comment", 300, "An unknown client: the shortest time that common libraries wait."),
    "openai-responses": Patience(240, "comment", 300, "An unknown client: the shortest time that libraries wait."),
    "gemini": Patience(60, how_known="An unknown client: as Gemini CLI, which asks again after 60 seconds."),
}


def patience(
    client: str, dialect: str, headers: Mapping[str, str], *, streams: bool, transport: Transport = "http"
) -> Patience:
    """What this client bears. `headers` by lower-case name; `streams`: it asked for an event stream."""
    found = _TABLE.get((client, dialect)) or _UNKNOWN.get(dialect, _UNKNOWN["gemini"])
    said = _seconds(headers.get("x-stainless-read-timeout")) or _seconds(headers.get("x-stainless-timeout"))
    if said and (client, dialect) not in _TABLE:
        found = replace(found, silent_s=said, told_s=LONGEST_S, how_known=f"It says itself that it waits {said:g} s.")
    elif said:
        found = replace(found, silent_s=min(found.silent_s, said))
    if headers.get("x-stainless-runtime") == "node" and found.silent_s > NODE_S:
        found = replace(
            found, silent_s=NODE_S, how_known="Whatever a library says: Node gives up after 300 s of silence."
        )
    if transport == "websocket":
        return Patience(min(found.silent_s, 300), how_known="On a WebSocket nothing is sent early; not measured.")
    return found if streams else replace(found, ping="")


def _seconds(value: str | None) -> float:
    """What a header says; 0 where it says nothing that is a time."""
    try:
        seconds = float(value or 0)
    except ValueError:
        return 0.0
    return seconds if 1 <= seconds < 1e6 else 0.0


def ping_of(ping: Ping) -> bytes:
    """A sign of life, as it stands in an event stream."""
    return b'event: ping\ndata: {"type": "ping"}\n\n' if ping == "event" else b": waiting at the proxy\n\n"
