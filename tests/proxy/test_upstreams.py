"""A proxy without a fixed provider: each request goes to the provider whose API it calls, and the recording says so."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from inspector.core.errors import InspectorError
from inspector.core.formats.proxy.whole import WholeExchanges
from inspector.proxy.record.records import Pairs
from inspector.proxy.relay import upstreams
from inspector.proxy.relay.server import ProxyServer
from inspector.proxy.relay.upstreams import AUTOMATIC, Upstreams, find_provider
from tests.proxy.raw import OK, client, echo, kinds, lines, provider


@pytest.mark.parametrize(
    ("path", "headers", "name"),
    [
        ("/v1/messages?beta=true", (), "anthropic"),
        ("/v1/models", (("Anthropic-Version", "2023-06-01"),), "anthropic"),
        ("/api/hello", (), "anthropic"),
        ("/v1/chat/completions", (), "openai"),
        ("/v1/responses", (("authorization", "Bearer k"),), "openai"),
        ("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", (), "gemini"),
        ("/v1beta/openai/chat/completions", (), "gemini"),
        ("/v1/models", (("x-goog-api-key", "k"),), "gemini"),
        ("/v1/models", (("authorization", "Bearer k"),), ""),
    ],
)
def test_find_provider_when_path_or_headers_say_it_returns_its_name(
    path: str, headers: Pairs, name: str
) -> None:
    assert find_provider(path, headers) == name


def test_choose_when_an_address_is_given_returns_it_for_every_request() -> None:
    only = Upstreams("http://127.0.0.1:9/gate")
    chosen = {only.choose(path, ()) for path in ("/v1/messages", "/v1/responses", "/unknown")}
    assert [one.url for one in chosen if one is not None] == ["http://127.0.0.1:9/gate"]
    with pytest.raises(InspectorError):
        Upstreams("ftp://provider")


def test_proxy_when_one_client_calls_two_providers_reaches_each_and_refuses_what_is_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[tuple[bytes, bytes]]] = {"anthropic": [], "openai": []}
    with ExitStack() as opened:
        running = {name: opened.enter_context(provider(echo(seen[name], OK))) for name in seen}
        hosts = {name: server.url for name, server in running.items()}
        monkeypatch.setattr(upstreams, "HOSTS", hosts)
        proxy = opened.enter_context(ProxyServer(AUTOMATIC, tmp_path / "r.jsonl"))
        wire = opened.enter_context(client(proxy))
        for path in ("/v1/messages", "/v1/responses", "/v1/messages"):
            wire.send(
                f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{{}}".encode()
            )
            assert b"200 OK" in wire.message()[0]
        wire.send(b"GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head, body = wire.message()
        assert b"502" in head
        assert b"which provider" in body
        recorded = [request.get("upstream") for request in kinds(proxy, "request")]
    assert [len(requests) for requests in seen.values()] == [2, 1]
    assert recorded == [hosts["anthropic"], hosts["openai"], hosts["anthropic"], None]
    whole = WholeExchanges()
    exchanges = [one for n, line in enumerate(lines(proxy)) for one in whole.take(n, line)]
    assert [one.upstream for one in exchanges] == [*recorded[:3], AUTOMATIC]
