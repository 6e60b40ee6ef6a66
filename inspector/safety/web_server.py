"""A web application for this machine only, on a thread of its own."""

import logging
from collections.abc import Mapping
from typing import Any, ClassVar

from aiohttp import ClientError, web
from aiohttp.http_exceptions import HttpProcessingError

from inspector.safety.loopback import LoopbackServer, is_cross_site, is_foreign, is_here

_LOG = logging.getLogger("context-inspector.server")
_LOG.addFilter(
    lambda record: (
        not (record.exc_info and isinstance(record.exc_info[1], ConnectionError | ClientError | HttpProcessingError))
    )
)
"""What a client does (leaves in the middle, speaks no HTTP) is no fault of ours, and no traceback."""


class WebServer(LoopbackServer):
    """Serves what `_application` makes."""

    OPTIONS: ClassVar[Mapping[str, Any]]
    """Of aiohttp's AppRunner."""

    def _application(self) -> web.Application:
        raise NotImplementedError

    async def _open(self) -> None:
        self._runner = web.AppRunner(self._application(), access_log=None, logger=_LOG, **self.OPTIONS)
        await self._runner.setup()
        await web.SockSite(self._runner, self.socket).start()

    async def _end(self) -> None:
        await self._runner.cleanup()


def is_local(request: web.Request) -> bool:
    """Does a program on this machine ask, and no web page that makes a browser ask?"""
    headers = request.headers
    is_page = is_foreign(headers.get("Origin", "")) or is_cross_site(headers.getall("Sec-Fetch-Site", []))
    return is_here(headers.get("Host", "")) and not is_page
