"""A server named by its URL: which dialect it is spoken to in, and where."""

import pytest

from inspector.providers.answerers import Api, find_address

HOST = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("who", "wire", "base"),
    [
        (HOST, "chat", f"{HOST}/v1"),
        (f"{HOST}/", "chat", f"{HOST}/v1"),
        (f"{HOST}/v1", "chat", f"{HOST}/v1"),
        (f"{HOST}/api/openai", "chat", f"{HOST}/api/openai"),
        (f"{HOST}/v1/chat/completions", "chat", f"{HOST}/v1"),
        (f"{HOST}/v1/messages", "anthropic", HOST),
        (f"{HOST}/proxy/v1/messages/", "anthropic", f"{HOST}/proxy"),
        (f"{HOST}/v1/responses", "responses", f"{HOST}/v1"),
        (f"anthropic+{HOST}", "anthropic", HOST),
        (f"anthropic+{HOST}/v1/messages", "anthropic", HOST),
        (f"responses+{HOST}", "responses", f"{HOST}/v1"),
        (f"responses+{HOST}/v1/responses", "responses", f"{HOST}/v1"),
        (f"chat+{HOST}/v1/messages", "chat", f"{HOST}/v1/messages"),
    ],
)
def test_an_endpoint_that_is_named_whole_says_how_it_is_spoken_to(
    who: str, wire: Api, base: str
) -> None:
    found = find_address(who)
    assert (found.api, found.base_url) == (wire, base)
