"""A web application for this machine only, in a separate thread."""

import logging
from collections.abc import Mapping
from typing import Any, ClassVar

from aiohttp import ClientError, web, web_app
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler

from inspector.safety.loopback import LoopbackServer, is_cross_site, is_foreign, is_here

_LOG = logging.getLogger("context-inspector.server")
_THEIRS = (ConnectionError, ClientError, HttpProcessingError, web.RequestPayloadError)
"""Errors of clients (an early disconnect, no HTTP, a bad body). They are not logged with a traceback."""
_LOG.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], _THEIRS)))


@web.middleware
async def _refuse_unreadable(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.RequestPayloadError:
        raise web.HTTPBadRequest(text="the body cannot be read") from None


class WebServer(LoopbackServer):
    """Serves the application that `_application` returns."""

    OPTIONS: ClassVar[Mapping[str, Any]]
    """Keyword arguments of aiohttp's AppRunner."""

    def _application(self) -> web.Application:
        raise NotImplementedError

    async def _open(self) -> None:
        app = self._application()
        app.middlewares.insert(0, _refuse_unreadable)
        self._runner = web.AppRunner(app, access_log=None, logger=_LOG, **self.OPTIONS)
        await self._runner.setup()
        await web.SockSite(self._runner, self.socket).start()

    async def _end(self) -> None:
        await self._runner.cleanup()
        _forget_applications()


def _forget_applications() -> None:
    """Empty aiohttp's cache of handlers, which keeps the last thousand applications and all objects they refer to."""
    clear = getattr(getattr(web_app, "_cached_build_middleware", None), "cache_clear", None)
    if clear is not None:
        clear()


def is_local(request: web.Request) -> bool:
    """Does the request come from a program on this machine, and not from a web page of another site?"""
    headers = request.headers
    is_page = is_foreign(headers.get("Origin", "")) or is_cross_site(
        headers.getall("Sec-Fetch-Site", [])
    )
    return is_here(headers.get("Host", "")) and not is_page
