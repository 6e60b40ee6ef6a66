"""A provider's address is an address and nothing more: what else a URL can hold is often a key, and would be kept."""

import re

MORE = (
    "The address of a provider holds no user name, password, query (?) or fragment (#): "
    "put a key into the environment or the keyring, not into the URL."
)


def address_trouble(who: str) -> str:
    """Why a provider's name or URL will not do, in one sentence that does not repeat it; empty for nothing."""
    _, mark, rest = who.partition("://")
    rest = rest if mark else who
    return MORE if re.search(r"[?#]|^[^/]*@", rest) else ""
