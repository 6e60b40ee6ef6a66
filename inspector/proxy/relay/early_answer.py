"""A request at the gate: read whole, waited with, let go as it was or changed, or answered here."""

import asyncio
from dataclasses import dataclass

from inspector.proxy.gate import Forward, Gate, HoldReason, Pairs, PendingRequest, Refuse, ReleaseKind
from inspector.proxy.relay.exchange_log import ExchangeLog, Upload
from inspector.proxy.relay.http_syntax import Http1Request, forwarded_head
from inspector.proxy.relay.link import TcpLink
from inspector.proxy.relay.refusals import late_error, start, whole

_OURS = ("content-length", "transfer-encoding", "connection", "keep-alive", "content-encoding")


class EarlyAnswer:
    """What the gate says to the client before the provider answers: a stream in chunks, begun early."""

    def __init__(self, link: TcpLink, log: ExchangeLog, request: Http1Request) -> None:
        self._link, self._log = link, log
        self._has_chunks = request.head.version == "1.1"
        self.begun = False
        self.persists = self._has_chunks and request.head.persists
        """May the connection be used again behind it?"""

    async def early(self, status: int, headers: Pairs) -> None:
        """Begin the answer. Again: nothing."""
        if self.begun:
            return
        self.begun = True
        kept = [(name, value) for name, value in headers if name.lower() not in _OURS]
        kept += [("transfer-encoding", "chunked")] if self._has_chunks else []
        self._link.write(start(status, [*kept, ("connection", "keep-alive" if self.persists else "close")]))
        await self._link.drain()

    async def send(self, data: bytes) -> None:
        """A piece of it."""
        if data:
            self._link.write(b"%x\r\n%b\r\n" % (len(data), data) if self._has_chunks else data)
            await self._link.drain()

    def end(self) -> None:
        """In good order."""
        self._link.write(b"0\r\n\r\n" if self._has_chunks else b"")

    async def fail(self, path: str, status: int, body: bytes) -> bool:
        """End it with an error, as its dialect has it. True where the connection can be used again."""
        await self.send(late_error(path, status, body))
        self.end()
        return self.persists

    def held(self, why: HoldReason, tokens: int | None) -> None:
        """Record it."""
        self._log.held(why, tokens)

    def released(self, how: ReleaseKind) -> None:
        """Record it."""
        self._log.released(how)

    def sends(self, body: bytes) -> None:
        """Record it."""
        self._log.sent(body)


@dataclass(frozen=True, slots=True)
class Admission:
    """What the gate decided. `raw` is the body as it was sent, `carried` the same without chunk marks.

    `body` goes in its place, unless it is None.
    """

    request: Http1Request
    talk: EarlyAnswer
    raw: bytes
    carried: bytes = b""
    body: bytes | None = None
    is_refused: bool = False
    persists: bool = False

    def without(self) -> tuple[str, ...]:
        """Names of headers that do not go along."""
        changed = ("content-length", "transfer-encoding", "content-encoding", "trailer", "content-md5", "digest")
        early = ("accept-encoding",) if self.talk.begun else ()
        return ("expect", *early, *(changed if self.body is not None else ()))

    def more(self) -> Pairs:
        """Headers that go along besides."""
        early = (("accept-encoding", "identity"),) if self.talk.begun else ()
        return (*early, *((("content-length", str(len(self.body))),) if self.body is not None else ()))

    def plain_body(self) -> bytes | None:
        """The body without chunk marks; None where there is none."""
        return (self.carried or None) if self.body is None else self.body

    def message(self, target: str, authority: str) -> bytes:
        """Head and body for the provider."""
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
    talk = EarlyAnswer(link, log, request)
    pending = PendingRequest(log.head, upload.carried(), talk)
    decision = await _decide(gate, pending, link)
    match decision:
        case None:
            return None
        case Refuse():
            persists = await _refuse(decision, talk, log, request, link)
            return Admission(request, talk, b"", is_refused=True, persists=persists)
        case Forward():
            if decision.body is not None:
                log.sent(decision.body)
            return Admission(request, talk, b"".join(raw), pending.raw, decision.body)


async def _decide(gate: Gate, pending: PendingRequest, link: TcpLink) -> Forward | Refuse | None:
    """What the gate says; None where the client goes meanwhile. A gate that breaks lets everything pass."""
    task = asyncio.ensure_future(gate.admit(pending))

    def leave() -> None:
        pending.gone.set()
        task.cancel()

    link.on_gone = leave
    if link.gone:
        leave()
    try:
        await asyncio.wait({task})
    finally:
        link.on_gone = None
        task.cancel()
    if task.cancelled():
        return None
    if (broke := task.exception()) is not None:
        told = {"message": "the gate of the proxy broke", "exception": broke, "task": task}
        asyncio.get_running_loop().call_exception_handler(told)
        return Forward()
    return None if pending.gone.is_set() else task.result()


async def _refuse(refuse: Refuse, talk: EarlyAnswer, log: ExchangeLog, request: Http1Request, link: TcpLink) -> bool:
    log.answered(refuse.status, refuse.headers)
    log.down.add(refuse.body)
    if talk.begun:
        await talk.send(refuse.body)
        talk.end()
        persists = talk.persists
    else:
        persists = request.head.persists
        has_body = request.method != "HEAD"
        link.write(whole(refuse.status, refuse.body, refuse.headers, persists=persists, has_body=has_body))
    log.finish("complete", own=True)
    return persists
