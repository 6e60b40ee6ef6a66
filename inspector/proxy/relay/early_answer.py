"""A request at the gate: read whole, waited with, let go as it was or changed, or answered here."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from inspector.core.dialects.decoding import decoded
from inspector.proxy.gate import Forward, Gate, PendingRequest, Refuse, decision_of
from inspector.proxy.record.recorder import ExchangeLog
from inspector.proxy.record.records import Pairs
from inspector.proxy.relay.http_syntax import Http1Request, forwarded_head
from inspector.proxy.relay.link import TcpLink
from inspector.proxy.relay.refusals import late_error, start, whole
from inspector.proxy.relay.upload import Upload

_OURS = ("content-length", "transfer-encoding", "connection", "keep-alive", "content-encoding")


class HttpRequest(PendingRequest):
    """What the gate may answer before the provider does: a stream in chunks, begun early."""

    def __init__(self, link: TcpLink, log: ExchangeLog, request: Http1Request, raw: bytes) -> None:
        super().__init__(log.head, raw, log)
        self.link, self.log = link, log
        self._has_chunks = request.head.version == "1.1"
        self.persists = self._has_chunks and request.head.persists
        """May the connection be used again after it?"""

    async def early(self, status: int, headers: Pairs) -> None:
        if self.begun:
            return
        self.begun = True
        kept = [(name, value) for name, value in headers if name.lower() not in _OURS]
        kept += [("transfer-encoding", "chunked")] if self._has_chunks else []
        self.link.write(start(status, [*kept, ("connection", "keep-alive" if self.persists else "close")]))
        await self.link.drain()

    async def send(self, data: bytes) -> None:
        if data:
            self.link.write(b"%x\r\n%b\r\n" % (len(data), data) if self._has_chunks else data)
            await self.link.drain()

    async def follow(self, status: int, encoding: str, pieces: AsyncIterator[bytes]) -> None:
        """The provider's answer after what was begun: unpacked, in chunks of ours; an error as its dialect has it."""
        waits = status >= 400 or encoding.lower() not in ("", "identity")
        kept: list[bytes] = []
        async for data in pieces:
            self.log.down.add(data)
            if waits:
                kept.append(data)
            else:
                await self.send(data)
        body = decoded(b"".join(kept), encoding).data
        if status >= 400:
            await self.fail(self.path, status, body)
        else:
            await self.send(body)

    def end(self) -> None:
        self.link.write(b"0\r\n\r\n" if self._has_chunks else b"")

    async def fail(self, path: str, status: int, body: bytes) -> bool:
        """End it with an error, as its dialect has it. True where the connection can be used again."""
        await self.send(late_error(path, status, body))
        self.end()
        return self.persists


@dataclass(frozen=True, slots=True)
class Admission:
    """What the gate decided. `raw` is the body as it was sent, chunk marks and all; `body` goes in its place, unless it
    is None.
    """

    request: Http1Request
    pending: HttpRequest
    raw: bytes
    body: bytes | None = None
    is_refused: bool = False
    persists: bool = False

    def without(self) -> tuple[str, ...]:
        """Names of headers that do not go along."""
        changed = ("content-length", "transfer-encoding", "content-encoding", "trailer", "content-md5", "digest")
        early = ("accept-encoding",) if self.pending.begun else ()
        return ("expect", *early, *(changed if self.body is not None else ()))

    def more(self) -> Pairs:
        """Headers that go along besides."""
        early = (("accept-encoding", "identity"),) if self.pending.begun else ()
        return (*early, *((("content-length", str(len(self.body))),) if self.body is not None else ()))

    def plain_body(self) -> bytes | None:
        """The body without chunk marks; None where there is none."""
        return (self.pending.raw or None) if self.body is None else self.body

    def message(self, target: str, authority: str) -> bytes:
        head = forwarded_head(self.request, target, authority, self.without(), self.more())
        return head + (self.raw if self.body is None else self.body)


async def admit(gate: Gate, request: Http1Request, log: ExchangeLog, upload: Upload, link: TcpLink) -> Admission | None:
    """Read the request whole and ask the gate. None: the client has gone. Raises BadMessage."""
    if "100-continue" in request.head.tokens("expect") and not upload.is_done and not link.has_unread():
        link.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    raw: list[bytes] = []
    while not upload.is_done:
        if not (data := await upload.read()):
            return None
        raw.append(data)
    pending = HttpRequest(link, log, request, upload.carried())
    match decision_of(await link.while_open(gate.admit(pending))):
        case Refuse() as refuse if not link.gone:
            return Admission(request, pending, b"", is_refused=True, persists=await _refuse(refuse, pending, request))
        case Forward(body) if not link.gone:
            if body is not None:
                log.sent(body)
            return Admission(request, pending, b"".join(raw), body)
    return None


async def _refuse(refuse: Refuse, pending: HttpRequest, request: Http1Request) -> bool:
    log, link = pending.log, pending.link
    log.answered(refuse.status, refuse.headers)
    log.down.add(refuse.body)
    if pending.begun:
        await pending.send(refuse.body)
        pending.end()
        persists = pending.persists
    else:
        persists = request.head.persists
        has_body = request.method != "HEAD"
        link.write(whole(refuse.status, refuse.body, refuse.headers, persists=persists, has_body=has_body))
    log.finish("complete", own=True)
    return persists
