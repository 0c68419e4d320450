"""File systems that the URIs of users name, opened only where clusters may be."""

from typing import Any

import aiohttp
import fsspec

import ingest.network.schemes  # noqa: F401 - for those who open files here
from ingest.network.clusters import checked_socket
from ingest.network.uris import check_uri, schemes_of


def filesystem_of(uri: str) -> tuple[Any, str]:
    """As ``fsspec.core.url_to_fs``. Over http every connection is checked as it is made, after redirects too."""
    check_uri(uri)
    found: tuple[Any, str] = fsspec.core.url_to_fs(uri, **_options(uri))
    return found


def opened(uri: str, compression: str | None) -> Any:
    """As ``fsspec.open(uri, "rb").open()``."""
    check_uri(uri)
    return fsspec.open(uri, "rb", compression=compression, **_options(uri)).open()


def _options(uri: str) -> dict[str, Any]:
    return {scheme: {"get_client": _checked_client} for scheme in schemes_of(uri) & {"http", "https"}}


async def _checked_client(**options: Any) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(socket_factory=checked_socket), trust_env=False, **options)
