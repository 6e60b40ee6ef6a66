"""Facts about clients: how long each waits for an answer, how to keep it waiting, and how to connect it to the proxy.

A client that waits long without a byte gets nothing until its time is nearly up, so that its answer keeps the
provider's own status and headers. Only then does the proxy begin the answer and send pings. Times are measured on real
clients if the table says so, and otherwise known from the client's library. The settings were tried with the named
versions. A tag in the path distinguishes launches of a client that sends no session id.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Literal, TypeAlias

from inspector.core.errors import InspectorError
from inspector.proxy.record.records import Transport

Ping: TypeAlias = Literal["", "comment", "event"]
"""The form of a ping: none may be sent; a comment (`: ...`); an event of the type `ping`."""
EVERY_S = 10.0
"""Seconds between two pings."""
NODE_S = 300.0
"""Seconds without a byte, before the headers and after, that Node's own `fetch` tolerates. Measured on pi."""
LONGEST_S = 1800.0
"""Longest time in seconds that any client is kept waiting."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a client waits, and what keeps it waiting."""

    silent_s: float
    """Seconds without a byte after which the client gives up or tries again."""
    ping: Ping = ""
    pinged_s: float = LONGEST_S
    """Seconds in total that the client waits while pings arrive; unused if no pings may be sent."""
    how_known: str = ""

    @property
    def begin_s(self) -> float | None:
        """Return the seconds after the request at which the answer must begin; None if it must not begin early."""
        return self.silent_s * 0.75 if self.ping else None

    @property
    def limit_s(self) -> float:
        """Return the seconds after which the request must be forwarded, so that the provider has time left to
        answer.
        """
        return self.pinged_s if self.ping else self.silent_s * 0.75


_MEASURED = "Measured on the client itself."
_SDK = "Not measured: known behaviour of the client's library."
_TABLE: Mapping[tuple[str, str], Patience] = {
    ("claude-code", "anthropic"): Patience(silent_s=330, ping="event", how_known=_MEASURED),
    ("codex", "openai-responses"): Patience(silent_s=330, ping="event", how_known=_MEASURED),
    ("pi", "anthropic"): Patience(silent_s=300, ping="comment", how_known=_MEASURED),
    ("pi", "openai-chat"): Patience(silent_s=300, ping="comment", how_known=_MEASURED),
    ("pi", "openai-responses"): Patience(300, how_known=_MEASURED),
    ("opencode", "anthropic"): Patience(silent_s=300, ping="comment", how_known=_MEASURED),
    ("opencode", "openai-chat"): Patience(silent_s=300, ping="comment", how_known=_MEASURED),
    ("opencode", "openai-responses"): Patience(silent_s=300, ping="comment", how_known=_MEASURED),
    ("gemini-cli", "gemini"): Patience(
        60, how_known=f"{_MEASURED} The client discards an answer if bytes are sent early."
    ),
    ("anthropic-sdk", "anthropic"): Patience(silent_s=600, ping="event", how_known=_SDK),
    ("openai-sdk", "openai-chat"): Patience(silent_s=600, ping="comment", how_known=_SDK),
    ("openai-sdk", "openai-responses"): Patience(silent_s=600, ping="comment", how_known=_SDK),
    ("litellm", "openai-chat"): Patience(silent_s=600, ping="comment", how_known=_SDK),
    ("litellm", "anthropic"): Patience(silent_s=600, ping="event", how_known=_SDK),
    ("aider", "openai-chat"): Patience(silent_s=600, ping="comment", how_known=_SDK),
}
_UNKNOWN: Mapping[str, Patience] = {
    "anthropic": Patience(
        silent_s=240,
        ping="event",
        pinged_s=300,
        how_known="An unknown client: the shortest time that common libraries wait.",
    ),
    "openai-chat": Patience(
        silent_s=240,
        ping="comment",
        pinged_s=300,
        how_known="An unknown client: the shortest time that common libraries wait.",
    ),
    "openai-responses": Patience(
        silent_s=240,
        ping="comment",
        pinged_s=300,
        how_known="An unknown client: the shortest time that common libraries wait.",
    ),
    "gemini": Patience(
        60, how_known="An unknown client: treated like Gemini CLI, which retries after 60 seconds."
    ),
}


def find_patience(
    client: str,
    dialect: str,
    headers: Mapping[str, str],
    *,
    streams: bool,
    transport: Transport = "http",
) -> Patience:
    """Return how long a client waits.

    Args:
        client: Name of the client.
        dialect: Name of the dialect that it uses.
        headers: The request's headers by lower-case name.
        streams: The client asked for an event stream.
        transport: How the request arrived.
    """
    seconds = _TABLE.get((client, dialect)) or _UNKNOWN.get(dialect, _UNKNOWN["gemini"])
    stated = _seconds(headers.get("x-stainless-read-timeout")) or _seconds(
        headers.get("x-stainless-timeout")
    )
    if stated and (client, dialect) not in _TABLE:
        seconds = replace(
            seconds,
            silent_s=stated,
            pinged_s=LONGEST_S,
            how_known=f"The client itself states that it waits {stated:g} s.",
        )
    elif stated:
        seconds = replace(seconds, silent_s=min(seconds.silent_s, stated))
    if headers.get("x-stainless-runtime") == "node" and seconds.silent_s > NODE_S:
        seconds = replace(
            seconds,
            silent_s=NODE_S,
            how_known="Node gives up after 300 s of silence, whatever the library states.",
        )
    if transport == "websocket":
        return Patience(
            min(seconds.silent_s, 300),
            how_known="On a WebSocket nothing is sent early; not measured.",
        )
    return seconds if streams else replace(seconds, ping="")


def _seconds(value: str | None) -> float:
    """Return the seconds in a header's value; 0 if it holds no plausible time."""
    try:
        seconds = float(value or 0)
    except ValueError:
        return 0.0
    return seconds if 1 <= seconds < 1e6 else 0.0


def ping_of(ping: Ping) -> bytes:
    """Return a ping in the form of an event stream."""
    if ping == "event":
        return b'event: ping\ndata: {"type": "ping"}\n\n'
    return b": waiting at the proxy\n\n"


@dataclass(frozen=True, slots=True)
class Snippet:
    """Text for the user to copy, and the place where it belongs."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Effect:
    """How a client changes its behaviour when its base URL is not the provider's; `against` is a remedy, empty if
    none.
    """

    what: str
    against: str = ""


@dataclass(frozen=True, slots=True)
class ClientSetup:
    """A client, and the settings that connect it to the proxy."""

    name: str
    title: str
    speaks: str
    """The provider to which the proxy must forward this client's requests."""
    snippets: tuple[Snippet, ...]
    effects: tuple[Effect, ...] = ()
    tried: str = ""


def new_tag() -> str:
    """Return a new tag for one launch of a client."""
    return token_hex(3)


_TAG = re.compile(r"[A-Za-z0-9._-]{1,40}")


def address(url: str, tag: str = "") -> str:
    """Return the URL that the client uses as its provider's. Raises InspectorError for a tag that a path cannot
    hold.
    """
    if tag and not _TAG.fullmatch(tag):
        raise InspectorError("A tag is made of letters, digits, dots, - and _, 40 at most.")
    return f"{url}/s/{tag}" if tag else url


def connections(url: str, tag: str = "") -> tuple[ClientSetup, ...]:
    """Return every known client with the settings that connect it to `url`. Raises InspectorError for a bad tag."""
    base = address(url, tag)
    return tuple(_point_to(client, base) for client in _CLIENTS)


def _point_to(client: ClientSetup, base: str) -> ClientSetup:
    snippets = (
        replace(snippet, text=snippet.text.replace(_BASE, base)) for snippet in client.snippets
    )
    return replace(client, snippets=tuple(snippets))


SHELL = "In the shell that starts it"
_TITLES_FAIL = Effect(
    "Titles, token counts and probes pass through the proxy as well; they are recorded as side calls and never held."
)

_BASE = "ADDRESS-OF-THE-PROXY"
"""Placeholder for the base URL in the texts below."""
_QUIET = (
    "DISABLE_TELEMETRY=1 DISABLE_ERROR_REPORTING=1 DISABLE_AUTOUPDATER=1 "
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"
)
_CODEX = f'{{name="Context Inspector", base_url="{_BASE}/v1", env_key="OPENAI_API_KEY", wire_api="responses"}}'
_PI = (
    f'export default (pi) => {{ pi.registerProvider("anthropic", {{ baseUrl: "{_BASE}" }}); '
    f'pi.registerProvider("openai", {{ baseUrl: "{_BASE}/v1" }}) }}'
)
"""An extension that moves pi's built-in providers."""
_OPENCODE = {
    "provider": {name: {"options": {"baseURL": f"{_BASE}/v1"}} for name in ("anthropic", "openai")}
}
_COMPATIBLE = {
    "npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": f"{_BASE}/v1", "apiKey": "{env:OPENAI_API_KEY}"},
    "models": {"MODEL": {"limit": {"context": 200_000, "output": 32_000}}},
}
"""A custom provider in opencode's configuration."""


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


_CLIENTS = (
    ClientSetup(
        "claude-code",
        title="Claude Code",
        speaks="Anthropic",
        snippets=(
            Snippet(SHELL, f"ANTHROPIC_BASE_URL={_BASE} ENABLE_TOOL_SEARCH=true claude"),
            Snippet(
                "In the shell, quiet as well",
                f"{_QUIET} ANTHROPIC_BASE_URL={_BASE} ENABLE_TOOL_SEARCH=true claude",
            ),
        ),
        effects=(
            Effect(
                "With a custom base URL it no longer defers tool definitions (tool search is off): about 25,000 "
                "tokens more in every request if many MCP tools are connected.",
                "ENABLE_TOOL_SEARCH=true, as in the line above.",
            ),
            Effect(
                "Update checks and telemetry go past the proxy.", "The second line turns them off."
            ),
            _TITLES_FAIL,
        ),
        tried="2.1.330, 2.1.197",
    ),
    ClientSetup(
        "codex",
        title="Codex",
        speaks="OpenAI",
        snippets=(
            Snippet(
                SHELL, f"codex -c 'model_providers.inspector={_CODEX}' -c model_provider=inspector"
            ),
            Snippet(
                "Or in ~/.codex/config.toml",
                'model_provider = "inspector"\n\n[model_providers.inspector]\nname = "Context Inspector"\n'
                f'base_url = "{_BASE}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n',
            ),
            Snippet(
                "Or for the built-in provider, at the top of config.toml",
                f'openai_base_url = "{_BASE}/v1"\n',
            ),
        ),
        effects=(
            Effect("OPENAI_BASE_URL is ignored since 0.169.", "Use one of the lines above."),
            Effect(
                "A provider of your own compacts locally (a summary by the model); the built-in one compacts at the "
                "provider, and its result is encrypted.",
                "To see Codex's own behaviour, use openai_base_url.",
            ),
            Effect(
                "The built-in provider opens a WebSocket first; it is passed through. If the upstream "
                "does not support WebSockets, Codex falls back to HTTP for the whole run.",
            ),
        ),
        tried="0.169.0, 0.98.0",
    ),
    ClientSetup(
        "pi",
        title="pi",
        speaks="Anthropic or OpenAI",
        snippets=(
            Snippet(
                SHELL,
                f'f=$(mktemp -d)/inspector.js && echo \'{_PI}\' > "$f" && PI_TELEMETRY=0 pi -e "$f"',
            ),
            Snippet(
                "Or in ~/.pi/agent/models.json",
                _json({"providers": {"anthropic": {"baseUrl": _BASE}}}),
            ),
            Snippet(
                "Or for OpenAI there", _json({"providers": {"openai": {"baseUrl": f"{_BASE}/v1"}}})
            ),
        ),
        effects=(
            Effect(
                "It sends a session id only over OpenAI Responses.",
                "The tag in the address tells two starts of the client apart; without a tag, requests "
                "are grouped by the messages that they share.",
            ),
        ),
        tried="0.87.1",
    ),
    ClientSetup(
        "opencode",
        title="opencode",
        speaks="Anthropic or OpenAI",
        snippets=(
            Snippet(SHELL, f"OPENCODE_CONFIG_CONTENT='{json.dumps(_OPENCODE)}' opencode"),
            Snippet("Or in ~/.config/opencode/opencode.json", _json(_OPENCODE)),
            Snippet(
                "Or for any OpenAI-compatible server",
                _json({"provider": {"inspector": _COMPATIBLE}}),
            ),
        ),
        effects=(
            Effect(
                "A custom provider has no known window: without `limit` it does not compact automatically.",
                "Give the model its limit, as above.",
            ),
        ),
        tried="1.18.33",
    ),
    ClientSetup(
        "gemini-cli",
        title="Gemini CLI",
        speaks="Gemini",
        snippets=(
            Snippet(SHELL, f"GOOGLE_GEMINI_BASE_URL={_BASE} gemini"),
            Snippet(
                "In ~/.gemini/settings.json, unless it is there already",
                _json({"security": {"auth": {"selectedType": "gemini-api-key"}}}),
            ),
        ),
        effects=(
            Effect(
                "Only with an API key: a Google login goes to another server.",
                "GEMINI_API_KEY and the setting.",
            ),
            Effect(
                "It retries after 60 seconds without an answer, so a request can be held for at most 45 seconds."
            ),
            Effect(
                "It sends no session id.",
                "The tag in the address tells two starts of the client apart.",
            ),
        ),
        tried="0.61.0",
    ),
    ClientSetup(
        "mini-swe-agent",
        title="mini-swe-agent",
        speaks="OpenAI or Anthropic",
        snippets=(
            Snippet(SHELL, f"OPENAI_API_BASE={_BASE}/v1 mini -m openai/MODEL"),
            Snippet("Or with Anthropic", f"ANTHROPIC_API_BASE={_BASE} mini -m anthropic/MODEL"),
        ),
        effects=(
            Effect(
                "It does not stream, so the proxy cannot send pings during a hold; held requests are "
                "forwarded earlier."
            ),
        ),
        tried="2.4.6",
    ),
    ClientSetup(
        "llm",
        title="llm",
        speaks="OpenAI",
        snippets=(
            Snippet(SHELL, f"OPENAI_BASE_URL={_BASE}/v1 llm -m MODEL"),
            Snippet(
                "Or in extra-openai-models.yaml in its folder",
                f"- model_id: inspected\n  model_name: MODEL\n  api_base: {_BASE}/v1\n  supports_tools: true\n",
            ),
        ),
        tried="0.36",
    ),
    ClientSetup(
        "aider",
        title="aider",
        speaks="OpenAI",
        snippets=(Snippet(SHELL, f"OPENAI_API_BASE={_BASE}/v1 aider --model openai/MODEL"),),
        effects=(
            Effect(
                "Its summary call is not part of the conversation and is recorded as a side call."
            ),
        ),
        tried="0.86.2",
    ),
    ClientSetup(
        "anthropic-sdk",
        title="Anthropic SDK",
        speaks="Anthropic",
        snippets=(
            Snippet("Python", f'client = anthropic.Anthropic(base_url="{_BASE}")'),
            Snippet("TypeScript", f'const client = new Anthropic({{ baseURL: "{_BASE}" }});'),
            Snippet("Or in the environment", f"ANTHROPIC_BASE_URL={_BASE}"),
        ),
    ),
    ClientSetup(
        "openai-sdk",
        title="OpenAI SDK",
        speaks="OpenAI, or any server that speaks its dialects",
        snippets=(
            Snippet("Python", f'client = openai.OpenAI(base_url="{_BASE}/v1")'),
            Snippet("TypeScript", f'const client = new OpenAI({{ baseURL: "{_BASE}/v1" }});'),
            Snippet("Or in the environment", f"OPENAI_BASE_URL={_BASE}/v1"),
        ),
    ),
)
