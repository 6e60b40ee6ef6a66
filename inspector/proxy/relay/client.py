"""One client's connection: its requests, one after the other, each to the provider and back."""

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING

from inspector.proxy.gate import Asking
from inspector.proxy.relay.admitting import Admitted, admit
from inspector.proxy.relay.connection_context import House
from inspector.proxy.relay.conversation import Conversation
from inspector.proxy.relay.exchange_log import Passage
from inspector.proxy.relay.heads import (
    BadMessage,
    Head,
    RequestHead,
    StatusHead,
    forwarded_head,
    read_head,
    request_framing,
    request_head,
)
from inspector.proxy.relay.hosts import is_cross_site, is_foreign, is_here
from inspector.proxy.relay.http1 import LINGER_S, NoAnswer, Trip
from inspector.proxy.relay.link import Link
from inspector.proxy.relay.refusals import error_body, whole
from inspector.proxy.relay.tunnel import Tunnel
from inspector.proxy.relay.upload import Upload
from inspector.proxy.relay.upstream import Unreachable
from inspector.proxy.relay.websocket import packing

if TYPE_CHECKING:  # httpx2 is heavy: it is imported where a provider speaks HTTP/2
    from inspector.proxy.relay.http2 import Http2

_TAG = re.compile(r"/s/([^/?#]+)(?=[/?]|$)(.*)", re.DOTALL)
_JSON = (("content-type", "application/json"),)


def split_tag(target: str) -> tuple[str, str]:
    """(tag, target without it): `/s/T/v1/messages` is `/v1/messages` of the launch T."""
    found = _TAG.fullmatch(target)
    if found is None:
        return "", target
    rest = found[2]
    return found[1], rest if rest.startswith("/") else "/" + rest


class Client:
    """`serve()` until one of the two ends."""

    def __init__(self, house: House, link: Link, number: int) -> None:
        self._house, self._link, self._number = house, link, number
        self._up: Link | None = None
        self._h2: Http2 | None = None
        self._is_idle = True

    async def serve(self) -> None:
        """All requests of this connection."""
        try:
            while True:
                self._is_idle = True
                raw = await read_head(self._link)
                self._is_idle = False
                if raw is None or not await self._exchange(raw):
                    break
        except BadMessage as bad:
            await self._answer_and_close("", bad.status, f"The proxy cannot pass this on: {bad}.")
        finally:
            self._link.on_gone = None
            if self._up is not None:
                self._up.abort()
            self._link.close()
            if self._h2 is not None:
                await self._h2.close()

    def stop(self) -> None:
        """The proxy ends."""
        self._link.abort()

    async def _exchange(self, raw: bytes) -> bool:
        """One request; True where another may follow on this connection. Raises BadMessage."""
        request = _origin_form(request_head(raw))
        framing = request_framing(request.head)
        if why := _refusal(request.head):
            await self._answer_and_close(request.target, 403, why)
            return False
        tag, path = split_tag(request.target)
        house = self._house
        asking = Asking(next(house.numbers), self._number, "http", request.method, path, tag, request.head.pairs)
        passage = Passage(asking, house.recorder, house.gate)
        try:
            return await self._pass(request, passage, Upload(self._link, framing, passage))
        finally:
            self._link.on_gone = None
            passage.finish("client closed" if self._link.gone else "failed")

    async def _pass(self, request: RequestHead, passage: Passage, upload: Upload) -> bool:
        house, path = self._house, passage.asking.path
        admitted: Admitted | None = None
        if house.gate.wants(passage.asking):
            admitted = await admit(house.gate, request, passage, upload, self._link)
            if admitted is None or admitted.is_refused:
                return admitted is not None and admitted.persists
        try:
            reached = await self._reach(may_be_h2=not request.head.tokens("upgrade"))
        except Unreachable as why:
            return await self._refuse(passage, upload, str(why), admitted)
        if self._link.gone:
            return False
        if reached is None:
            return await self._pass_h2(request, passage, upload, admitted)
        up, is_new = reached
        trip = Trip(request, passage, upload, self._link, up)
        self._link.on_gone = up.abort
        try:
            target = house.upstream.target(path)
            if admitted is not None:
                trip.send_whole(admitted.message(target, house.upstream.authority))
            else:
                await trip.send(forwarded_head(request, target, house.upstream.authority))
            answer = await trip.answer()
            if answer.status == 101:
                return await self._upgraded(answer, passage, up)
            if admitted is not None and admitted.talk.begun:
                return await trip.splice(answer, admitted.talk)
            return await trip.relay(answer)
        except NoAnswer as why:
            return await self._no_answer(passage, upload, str(why), admitted, is_new=is_new)
        finally:
            trip.stop()

    async def _upgraded(self, answer: StatusHead, passage: Passage, up: Link) -> bool:
        """From here on the connection is not HTTP; it ends with it."""
        house, head = self._house, answer.head
        self._link.write(answer.raw)
        passage.finish("complete")
        conversation = None
        if head.first("upgrade").lower() == "websocket":
            number = partial(next, house.numbers)
            conversation = Conversation(passage.asking, head.pairs, house.recorder, house.gate, number)
        packed = packing(",".join(head.all("sec-websocket-extensions")))
        await Tunnel(self._link, up, house.gate, conversation, packed).run()
        return False

    async def _pass_h2(self, request: RequestHead, passage: Passage, upload: Upload, admitted: Admitted | None) -> bool:
        from inspector.proxy.relay.http2 import Http2, Http2Trip, cancelled_with  # httpx2 is heavy

        house = self._house
        if self._h2 is None:
            self._h2 = Http2(house.upstream.origin, house.upstream.context())
        trip = Http2Trip(self._h2, request, passage, upload, self._link)
        work = asyncio.create_task(trip.go(house.upstream.target(passage.asking.path), admitted))
        try:
            return await cancelled_with(self._link, work) or False
        except NoAnswer as why:
            return await self._no_answer(passage, upload, str(why), admitted, is_new=self._h2.is_new)

    async def _no_answer(
        self, passage: Passage, upload: Upload, why: str, admitted: Admitted | None, *, is_new: bool
    ) -> bool:
        if passage.client_gone or self._link.gone:
            return False
        if not is_new:  # as without the proxy: a kept connection may end under a request, and clients know that
            passage.finish("upstream closed", f"The provider gave no answer: {why}.")
            return False
        return await self._refuse(passage, upload, f"{self._house.upstream.url} gave no answer: {why}.", admitted)

    async def _reach(self, *, may_be_h2: bool) -> tuple[Link, bool] | None:
        """This client's connection to the provider, and whether it was just made; None: HTTP/2. Raises Unreachable."""
        if self._up is not None and self._up.is_usable():
            return self._up, False
        if self._up is not None:
            self._up.abort()
        up = await self._house.upstream.connect(may_be_h2=may_be_h2)
        if up is None:
            return None
        up.on_gone = self._upstream_gone
        self._up = up
        return up, True

    def _upstream_gone(self) -> None:
        if self._is_idle and not self._link.has_unread():
            self._link.close()

    async def _refuse(self, passage: Passage, upload: Upload, sentence: str, admitted: Admitted | None) -> bool:
        """The provider cannot be asked: the client is told so, behind its whole body."""
        request = passage.asking
        waits = "100-continue" in request.header("expect").lower()
        while not upload.is_done and not waits and await upload.read():
            upload.forget()
        body = error_body(request.path, 502, sentence)
        passage.answered(502, _JSON)
        passage.down.add(body)
        persists = upload.is_done and not self._link.gone
        if admitted is not None and admitted.talk.begun:
            persists = persists and await admitted.talk.fail(request.path, 502, body)
        else:
            self._link.write(whole(502, body, _JSON, persists=persists, has_body=request.method != "HEAD"))
        passage.finish("client closed" if self._link.gone else "failed", sentence, own=True)
        return persists

    async def _answer_and_close(self, path: str, status: int, sentence: str) -> None:
        """Behind the answer, the client's bytes are read a while: a close upon them would take the answer with it."""
        self._link.write(whole(status, error_body(path, status, sentence), _JSON, persists=False))
        self._link.end()
        try:
            async with asyncio.timeout(LINGER_S):
                while await self._link.read():
                    pass
        except TimeoutError:
            pass


def _origin_form(request: RequestHead) -> RequestHead:
    """A target with scheme and host (as for a forward proxy) is taken as its path. Raises BadMessage."""
    target = request.target
    if request.method == "CONNECT":
        raise BadMessage(501, "CONNECT is not for a reverse proxy; set the client's base URL, not its HTTP proxy")
    if target.startswith("/") or target == "*":
        return request
    scheme, mark, rest = target.partition("://")
    host, slash, path = rest.partition("/")
    if scheme.lower() != "http" or not mark or not is_here(host):
        raise BadMessage(400, "this is a reverse proxy; set the client's base URL, not its HTTP proxy")
    return RequestHead(request.method, slash + path or "/", request.head)


def _refusal(head: Head) -> str:
    """Why this request is not for us; empty where it is."""
    hosts = head.all("host")
    if len(hosts) != 1 or not is_here(hosts[0]):
        return "This proxy answers to 127.0.0.1 and localhost only."
    if is_cross_site(head.all("sec-fetch-site")) or any(map(is_foreign, head.all("origin"))):
        return "This proxy does not answer to web pages of other sites."
    return ""
