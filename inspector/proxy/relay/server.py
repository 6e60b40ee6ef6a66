"""The proxy server: on loopback only, in a separate thread and loop. Window, command line and tests use it."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from inspector.proxy.gate import Gate
from inspector.proxy.record.exchange_log import ExchangeLog
from inspector.proxy.record.recorder import LineListener, Recorder, to_stderr
from inspector.proxy.record.records import RequestHead
from inspector.proxy.relay.http1 import LINGER_S, Http1Exchange, NoAnswer
from inspector.proxy.relay.http_syntax import (
    BadMessage,
    HeaderBlock,
    Http1Request,
    Http1Response,
    forwarded_head,
    read_head,
    request_framing,
    request_head,
)
from inspector.proxy.relay.link import TcpLink, Unreachable, Upstream
from inspector.proxy.relay.refusals import error_body, whole
from inspector.proxy.relay.request import ClientRequest
from inspector.proxy.relay.upstreams import Upstreams
from inspector.proxy.relay.websocket import Tunnel, WebSocketTunnel
from inspector.safety.loopback import STOP_S, LoopbackServer, is_cross_site, is_foreign, is_here

_TAG = re.compile(r"/s/([^/?#]+)(?=[/?]|$)(.*)", re.DOTALL)
_JSON = (("content-type", "application/json"),)
_NO_PROVIDER = "Nothing in this request shows which provider it is for. Start the proxy with the provider's address."


def split_tag(target: str) -> tuple[str, str]:
    """Return (tag, target without it): `/s/T/v1/messages` is `/v1/messages` of the launch T."""
    match = _TAG.fullmatch(target)
    if match is None:
        return "", target
    rest = match[2]
    return match[1], rest if rest.startswith("/") else "/" + rest


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """What all connections of the proxy share. `numbers` yields the numbers of exchanges."""

    upstreams: Upstreams
    recorder: Recorder
    gate: Gate
    numbers: Iterator[int]


class ClientConnection:
    """Serves one client. `serve()` runs until client or provider ends the connection."""

    def __init__(self, context: ConnectionContext, link: TcpLink, number: int) -> None:
        self._context = context
        self._link = link
        self._number = number
        self._up: TcpLink | None = None
        self._upstream: Upstream | None = None
        """The provider that `_up` leads to."""
        self._is_idle = True
        self._is_tunnel = False
        self._is_last = False
        """True if the connection ends after the current exchange."""

    @property
    def is_busy(self) -> bool:
        """Is an HTTP exchange under way? A WebSocket is never busy: its turns are exchanges of their own."""
        return not self._is_idle and not self._is_tunnel

    async def serve(self) -> None:
        try:
            while not self._is_last:
                self._is_idle = True
                raw = await read_head(self._link)
                self._is_idle = False
                if raw is None or not await self._exchange(raw):
                    break
            if self._is_last:
                await self._link.flush()
        except BadMessage as bad:
            await self._answer_and_close(
                "", bad.status, f"The proxy cannot forward this request: {bad}."
            )
        finally:
            self._link.on_gone = None
            if self._up is not None:
                self._up.abort()
            self._link.close()

    def stop(self) -> None:
        self._link.abort()

    def finish(self) -> None:
        """Accept no further request. The current exchange is completed."""
        self._is_last = True
        if self._is_idle and not self._link.has_unread():
            self._link.close()

    async def _exchange(self, raw: bytes) -> bool:
        """Handle one request. Return True if another may follow on this connection. Raises BadMessage."""
        request = _origin_form(request_head(raw))
        framing = request_framing(request)
        if why := _refusal(request):
            await self._answer_and_close(request.target, status=403, sentence=why)
            return False
        tag, path = split_tag(request.target)
        context = self._context
        upstream = context.upstreams.choose(path, request.pairs)
        head = RequestHead(
            next(context.numbers),
            connection=self._number,
            transport="http",
            method=request.method,
            path=path,
            tag=tag,
            headers=request.pairs,
            upstream=upstream.url if upstream and context.upstreams.is_automatic else "",
        )
        log = ExchangeLog(head, context.recorder, context.gate.answered)
        try:
            client = ClientRequest(request, framing, self._link, log)
            if upstream is None:
                return await self._refuse(client, _NO_PROVIDER)
            return await self._pass(client, upstream)
        finally:
            self._link.on_gone = None
            log.finish("client closed" if self._link.gone else "failed")

    async def _pass(self, client: ClientRequest, upstream: Upstream) -> bool:
        context = self._context
        log = client.log
        if context.gate.wants(log.head) and (over := await client.admit(context.gate)) is not None:
            return over
        try:
            provider, is_new = await self._reach(upstream)
        except Unreachable as why:
            return await self._refuse(client, str(why))
        if self._link.gone:
            return False
        target = upstream.target(log.head.path)
        authority = upstream.authority
        admitted = client.admitted
        exchange = Http1Exchange(client, provider)
        self._link.on_gone = provider.abort
        try:
            if admitted is None:
                head = forwarded_head(client.syntax, target, authority)
            else:
                head = admitted.message(target, authority)
            await exchange.send(head)
            answer = await exchange.answer()
            if answer.status == 101:
                return await self._upgraded(answer, client, provider)
            if admitted is not None and admitted.begun:
                return await exchange.splice(answer, admitted)
            return await exchange.relay(answer)
        except NoAnswer as why:
            sentence = f"{upstream.url} gave no answer: {why}."
            return await self._answer_failure(client, sentence, is_new=is_new)
        finally:
            exchange.stop()

    async def _upgraded(
        self, answer: Http1Response, client: ClientRequest, provider: TcpLink
    ) -> bool:
        """Pass bytes after an upgrade, when the connection no longer carries HTTP, until it ends."""
        context = self._context
        client.log.finish("complete")
        self._is_tunnel = True
        await client.write_last(answer.raw)
        tunnel = Tunnel(self._link, provider)
        if answer.first("upgrade").lower() == "websocket":
            number = partial(next, context.numbers)
            tunnel = WebSocketTunnel(
                self._link,
                provider,
                context.recorder,
                context.gate,
                client.log.head,
                answer,
                number,
            )
        await tunnel.run()
        return False

    async def _answer_failure(self, client: ClientRequest, sentence: str, *, is_new: bool) -> bool:
        if client.log.client_gone or self._link.gone:
            return False
        if not is_new:  # as without the proxy: a reused connection may end during a request, and clients handle that
            client.log.finish("upstream closed", sentence)
            return False
        return await self._refuse(client, sentence)

    async def _reach(self, upstream: Upstream) -> tuple[TcpLink, bool]:
        """Return this client's connection to a provider, and whether it was just opened. Raises Unreachable."""
        if self._up is not None and self._upstream is upstream and self._up.is_usable():
            return self._up, False
        if self._up is not None:
            self._up.on_gone = None
            self._up.abort()
        self._up = await upstream.connect()
        self._upstream = upstream
        self._up.on_gone = self._upstream_gone
        return self._up, True

    def _upstream_gone(self) -> None:
        if self._is_idle and not self._link.has_unread():
            self._link.close()

    async def _refuse(self, client: ClientRequest, sentence: str) -> bool:
        """Answer the client, after its whole body, why its request was not answered by a provider."""
        log = client.log
        request = client.log.head
        waits = "100-continue" in request.header("expect").lower()
        while not client.is_done and not waits and await client.read():
            client.forget()
        body = error_body(request.path, status=502, sentence=sentence)
        log.answered(502, _JSON)
        log.down.add(body)
        persists = client.is_done and not self._link.gone
        log.finish("client closed" if self._link.gone else "failed", sentence, own=True)
        if client.admitted is not None and client.admitted.begun:
            return await client.admitted.fail(502, body) and persists
        await client.write_last(
            whole(502, body, _JSON, persists=persists, has_body=request.method != "HEAD")
        )
        return persists

    async def _answer_and_close(self, path: str, status: int, sentence: str) -> None:
        """Send an answer, and read the client's bytes for a while. Closing while they arrive could discard the
        answer.
        """
        self._link.write(whole(status, error_body(path, status, sentence), _JSON, persists=False))
        self._link.end()
        try:
            async with asyncio.timeout(LINGER_S):
                while await self._link.read():
                    pass
        except TimeoutError:
            pass


def _origin_form(request: Http1Request) -> Http1Request:
    """Replace a target with scheme and host (as sent to a forward proxy) by its path. Raises BadMessage."""
    target = request.target
    if request.method == "CONNECT":
        raise BadMessage(
            status=501,
            why="CONNECT is not for a reverse proxy; set the client's base URL, not its HTTP proxy",
        )
    if target.startswith("/") or target == "*":
        return request
    scheme, mark, rest = target.partition("://")
    host, slash, path = rest.partition("/")
    if scheme.lower() != "http" or not mark or not is_here(host):
        raise BadMessage(
            status=400, why="this is a reverse proxy; set the client's base URL, not its HTTP proxy"
        )
    return replace(request, target=slash + path or "/")


def _refusal(head: HeaderBlock) -> str:
    """Return why the request is refused; empty if it is accepted."""
    hosts = head.all("host")
    if len(hosts) != 1 or not is_here(hosts[0]):
        return "This proxy answers to 127.0.0.1 and localhost only."
    if is_cross_site(head.all("sec-fetch-site")) or any(map(is_foreign, head.all("origin"))):
        return "This proxy does not answer to web pages of other sites."
    return ""


BACKLOG = 1024
_LAST_S = 0.01
"""Seconds for connections that were just closed to end: the loop closes them in its next turns."""


class ProxyServer(LoopbackServer):
    """Runs the proxy. Nothing is sent anywhere before a client asks.

    `upstream` is the provider's address, or AUTOMATIC. `record` is a new file, or a recording that is continued.
    `heard`, `rule`: see `Recorder`. Raises InspectorError for an address, a port or a file that cannot be used.
    """

    NAME: ClassVar[str] = "proxy"

    def __init__(
        self,
        upstream: str,
        record: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        gate: Gate | None = None,
        tell: Callable[[str], None] = to_stderr,
        heard: LineListener | None = None,
        rule: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._upstreams = Upstreams(upstream)
        super().__init__(host, port)
        self.gate = gate or Gate()
        try:
            self.recorder = Recorder(
                record, upstream=self._upstreams.url, tell=tell, heard=heard, rule=rule
            )
        except BaseException:
            self.socket.close()
            raise
        self._connections = count(1)
        self._context = ConnectionContext(
            self._upstreams, self.recorder, self.gate, numbers=count(self.recorder.first_exchange)
        )
        self._clients: dict[asyncio.Task[None], ClientConnection] = {}

    @property
    def is_busy(self) -> bool:
        """Is an HTTP exchange under way?"""
        return any(client.is_busy for client in tuple(self._clients.values()))

    def stop_accepting(self) -> None:
        """Accept no further connection or request; current exchanges are completed. May be called from any thread."""
        self.loop.call_soon_threadsafe(self._finish_clients)

    def _finish_clients(self) -> None:
        self._server.close()
        for client in self._clients.values():
            client.finish()

    def close(self) -> None:
        """End the proxy and complete its recording. May be called twice."""
        super().close()
        self.recorder.close()

    async def _open(self) -> None:
        self._server = await self.loop.create_server(
            lambda: TcpLink(self._welcome), sock=self.socket, backlog=BACKLOG
        )

    async def _end(self) -> None:
        self._server.close()
        for client in self._clients.values():
            client.stop()
        if self._clients:
            for task in self._clients:
                task.cancel()
            await asyncio.wait(self._clients, timeout=STOP_S / 2)
        await asyncio.sleep(_LAST_S)

    def _welcome(self, link: TcpLink) -> None:
        client = ClientConnection(self._context, link, next(self._connections))
        task = self.loop.create_task(client.serve())
        self._clients[task] = client
        task.add_done_callback(self._clients.pop)
