"""Pass one request to an HTTP/1.1 provider, and its answer back. The bytes of both are unchanged.

Each client connection has its own connection to the provider, and both end together. So whatever client and provider
agree on (keep-alive, `Connection: close`, 100-continue, an upgrade, a cut) works as without the proxy. Only the Host
line is changed, and the path if it holds a tag.
"""

import asyncio
from collections.abc import AsyncIterator

from inspector.proxy.relay.http_syntax import (
    BadFraming,
    BadMessage,
    Framing,
    Http1Response,
    read_head,
    status_framing,
    status_head,
)
from inspector.proxy.relay.link import TcpLink
from inspector.proxy.relay.request import AdmittedRequest, ClientRequest

LINGER_S = 2.0
"""Seconds for which the body of a client that was already answered is still read, so that it can read the answer."""


class NoAnswer(Exception):
    """The provider closed, or sent something that is not HTTP, before it answered. `str(error)` is a sentence."""


class Http1Exchange:
    """One exchange with the provider. `up` is the connection to the provider."""

    def __init__(self, client: ClientRequest, provider: TcpLink) -> None:
        self._client = client
        self._log = client.log
        self._down = client.link
        self._up = provider
        self._pump: asyncio.Task[None] | None = None
        self._bad: BadMessage | None = None
        self._is_broken = False
        """True if the body of the answer does not match what its head announced."""

    async def send(self, head: bytes) -> None:
        """Send the head, then the body as it arrives, or all of it if the request waited at the gate."""
        if self._client.has_unread():
            head += await self._client.read()
        self._up.write(head)
        self._client.forget()
        self._log.note_sent()
        if not self._client.is_done:
            self._pump = asyncio.create_task(self._pump_body())

    async def _pump_body(self) -> None:
        try:
            await self._client.pass_on(self._up)
        except BadMessage as bad:
            self._bad = bad
        if not self._client.is_done:
            self._up.abort()

    async def answer(self) -> Http1Response:
        """Return the head of the answer; informational answers (100, 103) are passed on. Raises NoAnswer,
        BadMessage.
        """
        while True:
            try:
                raw = await read_head(self._up)
                if self._bad is not None:
                    raise self._bad
                if raw is None:
                    raise NoAnswer(f"the provider closed the connection{_failure_words(self._up)}")
                answer = status_head(raw)
            except BadMessage as bad:
                if bad is self._bad:
                    raise
                raise NoAnswer(str(bad)) from None
            if answer.status >= 200 or answer.status == 101:
                self._log.answered(answer.status, answer.pairs)
                return answer
            self._down.write(raw)

    async def relay(self, answer: Http1Response) -> bool:
        """Pass on the answer byte for byte as it arrives. Return True if both connections can be used again."""
        framing = self._framing(answer)
        last = await self._relay_body(framing, answer.raw)
        clean = not self._is_broken and framing.ends_well() and not self._up.failed
        return await self._end(answer, clean, clean and framing.done, last)

    async def splice(self, answer: Http1Response, pending: AdmittedRequest) -> bool:
        """Pass on the answer after one that was begun early. Return True if both connections can be used again."""
        framing = self._framing(answer)
        await pending.follow(answer.status, answer.first("content-encoding"), self._pieces(framing))
        clean = framing.ends_well() and not self._up.failed
        last = pending.end_mark() if clean or answer.status >= 400 else b""
        return await self._end(answer, clean, clean and framing.done and pending.persists, last)

    async def _pieces(self, framing: Framing) -> AsyncIterator[bytes]:
        """Yield the content of the body, up to its end or to the place where it is malformed."""
        is_broken = False
        while not framing.done and not is_broken and (data := await self._up.read()):
            pieces: list[bytes] = []
            try:
                self._up.unread(data[framing.feed(data, pieces.append) :])
            except BadFraming:
                is_broken = True
            yield b"".join(pieces)

    def _framing(self, answer: Http1Response) -> Framing:
        try:
            return status_framing(answer, self._client.syntax.method)
        except BadMessage as bad:
            raise NoAnswer(str(bad)) from None

    async def _end(self, answer: Http1Response, clean: bool, persists: bool, last: bytes) -> bool:
        """Record the answer, then send its last bytes. Return True if both connections can be used again."""
        if clean and not self._log.client_gone:
            self._log.finish("complete")
        elif self._down.gone:
            self._log.finish("client closed")
        else:
            self._log.finish(
                "upstream closed",
                f"The provider closed the connection in the middle of its answer{_failure_words(self._up)}.",
            )
        await self._client.write_last(last)
        persists = persists and answer.persists and self._client.syntax.persists
        if self._pump is not None and not self._pump.done():
            await asyncio.wait({self._pump}, timeout=None if persists else LINGER_S)
        self.stop()
        return (
            persists and self._client.is_done and self._up.is_usable() and not self._up.has_unread()
        )

    async def _relay_body(self, framing: Framing, head: bytes) -> bytes:
        """Pass on head and body as they arrive, except the last bytes, which are returned.

        Malformed bytes are passed on, too, and end the answer.
        """
        provider = self._up
        down = self._down
        keep = self._log.down.add
        waiting = head

        def take(data: bytes) -> bool:
            nonlocal waiting
            try:
                count = framing.feed(data, keep)
            except BadFraming:
                self._is_broken = True
                count = len(data)
            if count != len(data):
                provider.unread(data[count:])
                data = data[:count]
            if framing.done or self._is_broken:
                waiting += data
                return True
            down.write(waiting + data if waiting else data)
            waiting = b""
            return False

        if framing.done:
            return head
        if not provider.has_unread():
            down.write(head)
            waiting = b""
        await provider.pass_each(take, down)
        return waiting

    def stop(self) -> None:
        """Stop reading from the client for this request."""
        if self._pump is not None and not self._pump.done():
            self._pump.cancel()


def _failure_words(link: TcpLink) -> str:
    return f" ({link.failed})" if link.failed else ""
