"""A client's request: passed on piece by piece, or read completely for the gate, which may change or answer it."""

from collections.abc import AsyncIterator

from inspector.core.dialects.decoding import decoded
from inspector.proxy.gate import Forward, Gate, PendingRequest, Refuse, decision_of
from inspector.proxy.record.exchange_log import ExchangeLog
from inspector.proxy.record.records import Pairs
from inspector.proxy.relay.http_syntax import (
    BadFraming,
    BadMessage,
    Framing,
    Http1Request,
    forwarded_head,
)
from inspector.proxy.relay.link import TcpLink
from inspector.proxy.relay.refusals import late_error, start, whole

_OURS = ("content-length", "transfer-encoding", "connection", "keep-alive", "content-encoding")


class ClientRequest:
    """The request of a client. Call `read()` until `is_done`, or until it returns no bytes because the client has
    closed.
    """

    def __init__(
        self, syntax: Http1Request, framing: Framing, link: TcpLink, log: ExchangeLog
    ) -> None:
        self.syntax = syntax
        self.link = link
        self.log = log
        self.admitted: AdmittedRequest | None = None
        """The request after it was read completely and the gate let it pass; otherwise None."""
        self._framing = framing
        self._carried: list[bytes] = []
        if framing.done:
            log.request_read()

    @property
    def is_done(self) -> bool:
        return self._framing.done

    def has_unread(self) -> bool:
        return not self._framing.done and self.link.has_unread()

    async def read(self) -> bytes:
        """Return the next bytes as they were sent, with chunk marks; empty if the client has closed. Raises
        BadMessage.
        """
        data = await self.link.read()
        if not data:
            self.log.client_gone = True
            return b""
        try:
            count = self._framing.feed(data, self._take)
        except BadFraming as why:
            raise BadMessage(status=400, why=str(why)) from None
        if count == len(data):
            return data
        self.link.unread(data[count:])
        return data[:count]

    def _take(self, data: bytes) -> None:
        self.log.up.add(data)
        self._carried.append(data)

    async def pass_on(self, target: TcpLink) -> None:
        """Send the body to `target` as it arrives, until its end or until the client has closed. Raises BadMessage."""
        problem = ""

        def take(data: bytes) -> bool:
            nonlocal problem
            try:
                count = self._framing.feed(data, self.log.up.add)
            except BadFraming as why:
                problem = str(why)
                return True
            if count != len(data):
                self.link.unread(data[count:])
                data = data[:count]
            target.write(data)
            self.forget()
            return self.is_done

        if not self.is_done:
            await self.link.pass_each(take, target)
        if problem:
            raise BadMessage(status=400, why=problem)
        if not self.is_done:
            self.log.client_gone = True

    async def write_last(self, data: bytes) -> None:
        """Send the client the end of an answer whose record was put. Its last byte waits until the record is safe."""
        recorder = self.log.recorder
        if not recorder.is_safe():
            self.link.write(data[:-1])
            data = data[-1:]
            await recorder.wait_until_safe()
        self.link.write(data)
        await self.link.drain()

    def carried(self) -> bytes:
        """Return the content read since the last call, without chunk marks."""
        data = self._carried[0] if len(self._carried) == 1 else b"".join(self._carried)
        self.forget()
        return data

    def forget(self) -> None:
        """Discard the content read so far, and record the request if it is complete."""
        self._carried.clear()
        if self._framing.done:
            self.log.request_read()

    def go_on(self) -> None:
        """Send `100 Continue` if the client waits for it before sending its body."""
        if (
            "100-continue" in self.syntax.tokens("expect")
            and not self.is_done
            and not self.link.has_unread()
        ):
            self.link.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def admit(self, gate: Gate) -> bool | None:
        """Read the whole request and ask the gate. Return None if the gate lets the request pass.

        Otherwise the exchange is over; return True if another may follow on this connection. Raises BadMessage.
        """
        self.go_on()
        sent: list[bytes] = []
        while not self.is_done:
            if not (data := await self.read()):
                return False
            sent.append(data)
        pending = AdmittedRequest(self, b"".join(sent))
        match decision_of(await self.link.run_while_open(gate.admit(pending))):
            case Refuse() as refuse if not self.link.gone:
                return await pending.refuse(refuse)
            case Forward(body) if not self.link.gone:
                if body is not None:
                    self.log.sent(body)
                pending.changed = body
                self.admitted = pending
                return None
        return False


class AdmittedRequest(PendingRequest):
    """A complete request, whose answer may be begun early as a chunked stream. `sent`: its body with all chunk
    marks.
    """

    def __init__(self, client: ClientRequest, sent: bytes) -> None:
        super().__init__(client.log.head, client.carried(), client.log)
        self.link = client.link
        self._client = client
        self._sent = sent
        self.changed: bytes | None = None
        """The body to forward instead of the original; None forwards the original."""
        self._has_chunks = client.syntax.version == "1.1"
        self.persists = self._has_chunks and client.syntax.persists
        """May the connection be used again after an answer that was begun early?"""

    # what goes to the provider

    def without(self) -> tuple[str, ...]:
        """Return the names of headers that are not forwarded."""
        changed = (
            "content-length",
            "transfer-encoding",
            "content-encoding",
            "trailer",
            "content-md5",
            "digest",
        )
        early = ("accept-encoding",) if self.begun else ()
        return ("expect", *early, *(changed if self.changed is not None else ()))

    def more(self) -> Pairs:
        """Return the headers that are added."""
        early = (("accept-encoding", "identity"),) if self.begun else ()
        return (
            *early,
            *((("content-length", str(len(self.changed))),) if self.changed is not None else ()),
        )

    def message(self, target: str, authority: str) -> bytes:
        head = forwarded_head(self._client.syntax, target, authority, self.without(), self.more())
        return head + (self._sent if self.changed is None else self.changed)

    # what goes to the client

    async def early(self, status: int, headers: Pairs) -> None:
        if self.begun:
            return
        self.begun = True
        sent_headers = [(name, value) for name, value in headers if name.lower() not in _OURS]
        sent_headers += [("transfer-encoding", "chunked")] if self._has_chunks else []
        self.link.write(
            start(
                status, [*sent_headers, ("connection", "keep-alive" if self.persists else "close")]
            )
        )
        await self.link.drain()

    async def send(self, data: bytes) -> None:
        if data:
            self.link.write(b"%x\r\n%b\r\n" % (len(data), data) if self._has_chunks else data)
            await self.link.drain()

    async def follow(self, status: int, encoding: str, pieces: AsyncIterator[bytes]) -> None:
        """Pass on the provider's answer after one that was begun early: unpacked, in chunks; an error as the dialect's
        event.
        """
        waits = status >= 400 or encoding.lower() not in ("", "identity")
        buffered: list[bytes] = []
        async for data in pieces:
            self.log.down.add(data)
            if waits:
                buffered.append(data)
            else:
                await self.send(data)
        body = decoded(b"".join(buffered), encoding).data
        await self.send(late_error(self.path, status, body) if status >= 400 else body)

    def end_mark(self) -> bytes:
        """Return the bytes that end an answer that was begun early."""
        return b"0\r\n\r\n" if self._has_chunks else b""

    async def refuse(self, refuse: Refuse) -> bool:
        """Answer the request here. Return True if the connection can be used again."""
        self.log.answered(refuse.status, refuse.headers)
        self.log.down.add(refuse.body)
        self.log.finish("complete", own=True)
        if self.begun:
            await self.send(refuse.body)
            await self._client.write_last(self.end_mark())
            return self.persists
        syntax = self._client.syntax
        has_body = syntax.method != "HEAD"
        answer = whole(
            refuse.status, refuse.body, refuse.headers, persists=syntax.persists, has_body=has_body
        )
        await self._client.write_last(answer)
        return syntax.persists

    async def fail(self, status: int, body: bytes) -> bool:
        """End an answer that was begun early with an error event of the dialect. Return True if the connection can be
        reused.
        """
        await self.send(late_error(self.path, status, body))
        await self._client.write_last(self.end_mark())
        return self.persists
