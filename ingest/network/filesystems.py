"""File systems that URIs of people name, opened only where clusters may be."""

import re
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import fsspec

from ingest.network.clusters import check_host, checked_socket

_PART = re.compile(r"(?:^|::)(?P<uri>(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:[^@/\[]*@)?(?:\[[^\]]*\])?[^:]*(?::(?!:)[^:]*)*)")
_NO_HOST = re.compile(r"file|local|memory|data|zip|tar|s3|s3a|s3n|gs|gcs|abfs|abfss|az|adl|wasb|wasbs|oss|obs|cos|hf")
"""Their authority is a bucket, a container or nothing; where their service is, the machine's own settings say."""


def check_uri(uri: str) -> None:
    """Raises ``RefusedAddress`` where a host in it may not be asked; also in chains such as ``simplecache::http://…``."""
    for part in _PART.finditer(uri):
        if _NO_HOST.fullmatch(part["scheme"].lower()):
            continue
        try:
            parts = urlsplit(part["uri"])
            host, port = parts.hostname, parts.port
        except ValueError:
            continue  # no file system opens it
        if host:
            check_host(host, port)


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
    schemes = {part["scheme"].lower() for part in _PART.finditer(uri)}
    return {scheme: {"get_client": _checked_client} for scheme in ("http", "https") if scheme in schemes}


async def _checked_client(**options: Any) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(socket_factory=checked_socket), trust_env=False, **options)
