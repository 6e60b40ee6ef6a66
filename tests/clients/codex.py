"""Codex: a provider of one's own over HTTP, the built-in one over WebSocket, a login whose bodies are packed (zstd)."""

import base64
import json
from collections.abc import Sequence
from typing import Literal

from tests.clients.actor import KEY, URL, Dress, Limits, Trait, node_of, program

_OWN = f"""model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{URL}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
"""
_BUILT_IN = f'openai_base_url = "{URL}/v1"\nchatgpt_base_url = "{URL}/backend-api"\n'
_QUIET = 'model = "gpt-5.5"\ncheck_for_update_on_startup = false\n'
_LIMITS = Limits(8_600, 0)


class Codex:
    """`codex exec`."""

    name = "codex"
    transcripts = ".codex/sessions/*/*/*/*.jsonl"
    writes: Literal["all", "talk"] = "talk"
    helper = "default"
    wires = {  # noqa: RUF012 - never changed
        "http": Trait(compacts_at=_LIMITS),
        "websocket": Trait(first=1, only_new=True, compacts_at=_LIMITS),
        "fallback": Trait(websocket=False, compacts_at=_LIMITS),
        "zstd": Trait(websocket=False, compacts_at=Limits(10_000, 0)),
    }

    def dress(self, wire: str, limits: Limits | None) -> Dress:
        """A file of settings; a login that nobody has given."""
        head = _QUIET + (f"model_auto_compact_token_limit = {limits.at}\n" if limits else "")
        config = head + (_OWN if wire == "http" else _BUILT_IN) + "[analytics]\nenabled = false\n"
        if wire == "zstd":
            return Dress({".codex/config.toml": config, ".codex/auth.json": json.dumps(_login())})
        return Dress({".codex/config.toml": config}, {"OPENAI_API_KEY": KEY, "CODEX_API_KEY": KEY})

    def calls(self, wire: str, task: str, limits: Limits | None) -> Sequence[Sequence[str]]:
        """One task, then the end. The namespace is its sandbox."""
        more = ["--enable", "multi_agent_v2"] if self.helper in task else []
        return [[*self._exec(), *more, task]]

    def again(self, wire: str, words: str) -> Sequence[str]:
        """The newest session."""
        return [*self._exec(), "resume", "--last", words]

    def _exec(self) -> Sequence[str]:
        command = [
            node_of("codex"),
            program("codex", "codex"),
            "exec",
            "--json",
            "-s",
            "danger-full-access",
        ]
        return [*command, "--skip-git-repo-check"]


def _login() -> dict[str, object]:
    claims = {
        "chatgpt_plan_type": "pro",
        "chatgpt_account_id": "nobody",
        "chatgpt_user_id": "nobody",
    }
    token = _token(
        {
            "email": "nobody@example.invalid",
            "exp": 4_102_444_800,
            "https://api.openai.com/auth": claims,
        }
    )
    tokens = {
        "id_token": token,
        "access_token": token,
        "refresh_token": "none",
        "account_id": "nobody",
    }
    return {"OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": "2099-01-01T00:00:00Z"}


def _token(claims: dict[str, object]) -> str:
    parts = ({"alg": "none", "typ": "JWT"}, claims)
    packed = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts
    ]
    return ".".join([*packed, "bm9uZQ"])


ACTOR = Codex()
