"""The HTTP client under an SDK: the SDKs' own limits, but no proxy from the environment for this machine."""

import ipaddress
import os
from typing import Any
from urllib.parse import urlsplit

from inspector.core.heavy import load
from inspector.providers.dialect import CONNECT_S
from inspector.safety.keys import Key


def http_client(base_url: str | None, variable: str) -> Any:
    """An asynchronous httpx2 client for this base URL (None: what the environment `variable` says)."""
    import httpx2

    here = is_loopback(base_url or os.environ.get(variable, ""))
    return httpx2.AsyncClient(trust_env=not here, follow_redirects=not here)


def is_loopback(url: str) -> bool:
    """Does the URL name this machine?"""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class OpenAIClient:
    """The `openai` SDK's client, opened at the first call. `base_url` None = OpenAI's own, or OPENAI_BASE_URL."""

    errors: tuple[type[Exception], ...] = ()

    def __init__(self, key: Key, base_url: str | None) -> None:
        self._key = key
        self._base_url = base_url
        self._client: Any = None

    def opened(self) -> Any:
        """The client. Imports the SDK."""
        if self._client is None:
            load("openai")
            import httpx2
            import openai

            self.errors = (openai.OpenAIError, httpx2.HTTPError)
            self._client = openai.AsyncOpenAI(
                api_key=self._key.reveal() or "none",  # the SDK wants one, even where the server does not
                base_url=self._base_url,
                max_retries=0,
                http_client=http_client(self._base_url, "OPENAI_BASE_URL"),
            )
        return self._client

    def timeout(self, seconds: float | None) -> Any:
        """For the SDK; the total is kept elsewhere."""
        import httpx2

        return httpx2.Timeout(seconds, connect=CONNECT_S)

    async def close(self) -> None:
        """Close its connections."""
        if self._client is not None:
            await self._client.close()
