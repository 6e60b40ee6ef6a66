"""Other ways to build a proxy, as small as they can be and without recording: what the choice was made by.

`python -m tests.bench.proxy_others aiohttp|httpx2 UPSTREAM`
"""

import asyncio
import sys
from collections.abc import AsyncIterator

_DROPPED = ("host", "content-length", "transfer-encoding", "connection", "keep-alive")


async def _aiohttp(upstream: str) -> None:
    """aiohttp on both sides."""
    from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

    session = ClientSession(
        auto_decompress=False, timeout=ClientTimeout(None), connector=TCPConnector(limit=0)
    )

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        headers = [
            (name, value) for name, value in request.headers.items() if name.lower() not in _DROPPED
        ]
        data = request.content if request.can_read_body else None
        length = request.headers.get("content-length")
        headers += [("content-length", length)] if length else []
        async with session.request(
            request.method, upstream + request.raw_path, headers=headers, data=data
        ) as answer:
            kept = {
                name: value
                for name, value in answer.headers.items()
                if name.lower() not in _DROPPED
            }
            response = web.StreamResponse(status=answer.status, headers=kept)
            response.enable_chunked_encoding()
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response

    server = web.Server(handle, access_log=None, auto_decompress=False)
    runner = web.ServerRunner(server)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    print(f"listening on http://127.0.0.1:{port}", flush=True)
    await asyncio.Event().wait()


async def _httpx2(upstream: str) -> None:
    """starlette and uvicorn in front, httpx2 behind."""
    import httpx2
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    client = httpx2.AsyncClient(
        timeout=None, trust_env=False, limits=httpx2.Limits(max_connections=None)
    )

    async def handle(request: Request) -> StreamingResponse:
        headers = [(name, value) for name, value in request.headers.items() if name not in _DROPPED]
        headers += [("content-length", request.headers["content-length"])]
        target = f"{upstream}{request.url.path}"
        answer = await client.send(
            client.build_request(request.method, target, headers=headers, content=request.stream()),
            stream=True,
        )

        async def body() -> AsyncIterator[bytes]:
            async for piece in answer.aiter_raw():
                yield piece
            await answer.aclose()

        kept = {
            name: value for name, value in answer.headers.items() if name.lower() not in _DROPPED
        }
        return StreamingResponse(body(), answer.status_code, headers=kept)

    app = Starlette(routes=[Route("/{path:path}", handle, methods=["POST", "GET"])])
    config = uvicorn.Config(
        app, port=0, loop="asyncio", http="h11", access_log=False, log_config=None, lifespan="off"
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print(
        f"listening on http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", flush=True
    )
    await task


if __name__ == "__main__":
    asyncio.run({"aiohttp": _aiohttp, "httpx2": _httpx2}[sys.argv[1]](sys.argv[2]))
