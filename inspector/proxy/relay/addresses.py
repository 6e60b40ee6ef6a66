"""The provider: its address, and connections to it.

No proxy of the environment, no time limit of ours. TLS is verified as always: the system's certificates, or those of
SSL_CERT_FILE. HTTP/2 is offered (ALPN); whoever takes it is spoken to through httpx2, all others through a link of the
client's own.
"""

import asyncio
import ssl
from urllib.parse import urlsplit

from inspector.core.errors import InspectorError
from inspector.proxy.relay.link import TcpLink
from inspector.safety.keys import address_trouble


class Unreachable(Exception):
    """The provider cannot be reached. `str(error)` is a sentence for the client."""


class Upstream:
    """One provider's address: `http://host:port/prefix`, `https://...`. Raises InspectorError for anything else."""

    def __init__(self, url: str) -> None:
        if address_trouble(url):
            raise InspectorError("The upstream is an address only: keys come from the client, with each request.")
        try:
            parts = urlsplit(url if "://" in url else f"https://{url}")
            port = parts.port
        except ValueError as error:
            raise InspectorError(f"{url} is not a URL: {error}.") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InspectorError(f"{url} is not a provider's address: it begins with https:// or http://.")
        self.is_secure = parts.scheme == "https"
        self.host = parts.hostname
        self.port = port or (443 if self.is_secure else 80)
        self.prefix = parts.path.rstrip("/")
        self.authority = parts.netloc
        """As a Host header names it."""
        self.url = f"{parts.scheme}://{parts.netloc}{self.prefix}"
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self._is_h2 = False
        self._contexts: dict[tuple[str, ...], ssl.SSLContext] = {}

    def target(self, path: str) -> str:
        """The path there, with the address's own in front."""
        return self.prefix + path if path.startswith("/") else path

    async def connect(self, *, may_be_h2: bool = True) -> TcpLink | None:
        """A new connection that speaks HTTP/1.1; None where the provider chose HTTP/2. Raises Unreachable."""
        if self._is_h2 and may_be_h2:
            return None
        link = await self._dial(("h2", "http/1.1") if may_be_h2 else ("http/1.1",))
        found = link.info("ssl_object")
        if isinstance(found, ssl.SSLObject) and found.selected_alpn_protocol() == "h2":
            self._is_h2 = True
            link.abort()
            return None
        return link

    async def _dial(self, protocols: tuple[str, ...]) -> TcpLink:
        loop = asyncio.get_running_loop()
        context = self.context(*protocols) if self.is_secure else None
        try:
            _, link = await loop.create_connection(
                TcpLink, self.host, self.port, ssl=context, happy_eyeballs_delay=0.25
            )
        except (OSError, UnicodeError) as error:
            raise Unreachable(f"{self.url} cannot be reached: {_reason(error)}.") from None
        return link

    def context(self, *protocols: str) -> ssl.SSLContext:
        """For connections that offer these protocols. Made once: reading all certificates takes its time."""
        if protocols not in self._contexts:
            import httpx2  # it knows where this system's certificates lie

            context = self._contexts[protocols] = httpx2.create_ssl_context()
            if protocols:
                context.set_alpn_protocols(list(protocols))
        return self._contexts[protocols]


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message}); SSL_CERT_FILE names more authorities"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or error})"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")
