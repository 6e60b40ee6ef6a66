"""The body of a request, on its way from the client: read piece by piece, captured, and passed on as it came."""

from inspector.proxy.record.recorder import ExchangeLog
from inspector.proxy.relay.http_syntax import BadFraming, BadMessage, Framing
from inspector.proxy.relay.link import TcpLink


class Upload:
    """`read()` until `is_done`, or until it says that the client has gone."""

    def __init__(self, link: TcpLink, framing: Framing, log: ExchangeLog) -> None:
        self._link, self._framing, self._log = link, framing, log
        self._carried: list[bytes] = []
        if framing.done:
            log.request_read()

    @property
    def is_done(self) -> bool:
        return self._framing.done

    def has_unread(self) -> bool:
        """Is more of it here already?"""
        return not self._framing.done and self._link.has_unread()

    async def read(self) -> bytes:
        """The next bytes as they were sent, chunk marks and all; empty: the client has gone. Raises BadMessage."""
        data = await self._link.read()
        if not data:
            self._log.client_gone = True
            return b""
        try:
            count = self._framing.feed(data, self._take)
        except BadFraming as why:
            raise BadMessage(400, str(why)) from None
        if count == len(data):
            return data
        self._link.unread(data[count:])
        return data[:count]

    def _take(self, data: bytes) -> None:
        self._log.up.add(data)
        self._carried.append(data)

    def carried(self) -> bytes:
        """What the bytes read since the last call carry, without chunk marks."""
        data = self._carried[0] if len(self._carried) == 1 else b"".join(self._carried)
        self.forget()
        return data

    def forget(self) -> None:
        """What was carried is not wanted, or was passed on: a request that is whole is recorded now. Recording wakes a
        thread, for which the provider need not wait."""
        self._carried.clear()
        if self._framing.done:
            self._log.request_read()
