"""Loopback only: where the proxy may listen, and whom it answers.

A web page in a browser on this machine can reach 127.0.0.1 too. By a name of its own (DNS that points here) it is told
by its Host header, from another site by its Origin, or (an image, a link: no Origin) by what browsers say of the site.
"""

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from inspector.core.errors import InspectorError

_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]/@\s]+)(?::\d{1,5})?")


def loopback_address(host: str) -> str:
    """The address to listen on. Raises InspectorError for any that other machines could reach."""
    name = "127.0.0.1" if host.lower() == "localhost" else host.removeprefix("[").removesuffix("]")
    if not _is_loopback(name):
        raise InspectorError(f"The proxy listens on this machine only: --host 127.0.0.1 or ::1, not {host}.")
    return name


def is_here(host: str) -> bool:
    """Does a Host header (`127.0.0.1:8080`, `localhost`, `[::1]:80`) name this machine?"""
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = found[1].removeprefix("[").removesuffix("]")
    return name.lower() == "localhost" or _is_loopback(name)


def is_foreign(origin: str) -> bool:
    """Is an Origin header a web page's from elsewhere? A page of no site (`null`) is; a program's own scheme is not."""
    if not origin:
        return False
    if origin == "null":
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return True
    return parts.scheme in ("http", "https") and not is_here(parts.netloc)


def is_cross_site(sites: Iterable[str]) -> bool:
    """Do the Sec-Fetch-Site headers say that a web page of another site makes the browser ask?"""
    return any("cross-site" in site.lower() for site in sites)


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
