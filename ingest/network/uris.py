import re
from typing import Any
from urllib.parse import urlsplit

from ingest.network.clusters import check_host

_PART = re.compile(
    r"(?:^|::)(?P<uri>(?P<scheme>[A-Za-z][A-Za-z0-9+._-]*)://(?:[^@/\[]*@)?(?:\[[^\]]*\])?"
    r"[^:]*(?::(?!:)[^:]*)*)"
)
_NO_HOST = re.compile(
    r"file|local|memory|data|zip|tar|s3[anp]?|gs|gcs|abfss?|az|adl|wasbs?|oss|obs|cosn?|hf"
)

_NAMENODES = frozenset({"hdfs", "webhdfs", "swebhdfs"})
_AZURE = frozenset({"abfs", "abfss", "az"})


def check_uri(uri: str) -> None:
    """Raises ``RefusedAddress``. Checks each URI of a chain such as ``simplecache::http://…``."""
    for part in _PART.finditer(uri):
        if _NO_HOST.fullmatch(part["scheme"].lower()):
            continue
        try:
            parts = urlsplit(part["uri"])
            host, port = parts.hostname, parts.port
        except ValueError:
            continue  # no file system can open it
        if host:
            check_host(host, port)


def is_http_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and "@" not in parts.netloc
        )
    except ValueError:
        return False


def schemes_of(uri: str) -> set[str]:
    return {part["scheme"].lower() for part in _PART.finditer(uri)}


def spelled_as(pattern: str, filesystem: Any, name: str) -> str:
    """The URI of ``name``, which ``filesystem`` lists for ``pattern``. fsspec's
    ``unstrip_protocol`` leaves out the NameNode, or the account of a container.
    """
    scheme, colon, location = pattern.partition("://")
    authority = location.partition("/")[0]
    if colon and scheme.lower() in _NAMENODES:
        return f"{scheme}://{authority}/{name.lstrip('/')}"
    if colon and "@" in authority and scheme.lower() in _AZURE:
        return f"{scheme}://{authority}/{name.lstrip('/').partition('/')[2]}"
    return str(filesystem.unstrip_protocol(name))
