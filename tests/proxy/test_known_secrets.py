"""Keys of a header that are repeated elsewhere in another spelling."""

import pytest

from inspector.proxy.record.known_secrets import KnownSecrets


@pytest.mark.parametrize(
    ("name", "value", "repeated"),
    [
        ("x-api-key", "schlüssel-0123456789", "schlüssel-0123456789"),
        ("cookie", "a=grün-0123456789; b=zweiter-0123", "grün-0123456789"),
        ("authorization", "Bearer geheim-ä-0123456789", "geheim-ä-0123456789"),
    ],
)
def test_line_when_a_key_was_sent_as_utf8_removes_it_from_texts(
    name: str, value: str, repeated: str
) -> None:
    """A client may send the bytes of UTF-8: a head is read as Latin-1, a body as UTF-8."""
    secrets = KnownSecrets()
    secrets.learn_head([(name, value.encode().decode("latin-1"))])
    assert repeated not in secrets.line({"text": f"the key is {repeated}."})
