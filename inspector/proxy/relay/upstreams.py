"""Choose the provider that a request is forwarded to: always the same, or the one whose API the request calls."""

from collections.abc import Mapping

from inspector.core.dialects.catalogue import DIALECTS, endpoint
from inspector.proxy.record.records import Pairs
from inspector.proxy.relay.link import Upstream

AUTOMATIC = "automatic"
"""Given in place of an address: every request goes to the provider whose API it calls."""
HOSTS: Mapping[str, str] = {dialect.provider: dialect.host for dialect in DIALECTS.values()}
"""The address of each provider whose API is known."""
_BY_HEADER = {"anthropic-version": "anthropic", "x-goog-api-key": "gemini"}
_BY_PATH = {"/v1beta/": "gemini", "/v1alpha/": "gemini", "/api/": "anthropic"}
"""Beginnings of paths. Claude Code calls `/api/...` beside the API, without its headers."""


class Upstreams:
    """The providers of one proxy. Raises InspectorError for an address that cannot be used."""

    def __init__(self, url: str) -> None:
        """Connect to nothing yet.

        Args:
            url: The address of the only provider, or AUTOMATIC.
        """
        self._only = None if url == AUTOMATIC else Upstream(url)
        self._by_name: dict[str, Upstream] = {}
        self.url = AUTOMATIC if self._only is None else self._only.url

    @property
    def is_automatic(self) -> bool:
        return self._only is None

    def choose(self, path: str, headers: Pairs) -> Upstream | None:
        """Return the provider of a request; None if neither path nor headers say which it is."""
        if self._only is not None:
            return self._only
        name = find_provider(path, headers)
        if name and name not in self._by_name:
            self._by_name[name] = Upstream(HOSTS[name])
        return self._by_name.get(name)


def find_provider(path: str, headers: Pairs) -> str:
    """Return the name of the provider whose API a request calls; empty if unknown."""
    for header, _ in headers:
        if (name := _BY_HEADER.get(header.lower())) is not None:
            return name
    for beginning, name in _BY_PATH.items():
        if path.startswith(beginning):
            return name
    dialect = endpoint("POST", path).dialect
    return dialect.provider if dialect is not None else ""
