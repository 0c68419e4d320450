from typing import Any

import aiohttp
import fsspec

import ingest.network.schemes  # noqa: F401 - registers schemes
from ingest.local_directories import NotAllowed, refusal_of_chain
from ingest.network.clusters import checked_socket
from ingest.network.unopened import as_os_error
from ingest.network.uris import check_uri, schemes_of


def filesystem_of(uri: str) -> tuple[Any, str]:
    """Like ``fsspec.core.url_to_fs``. Raises ``RefusedAddress``, ``NotAllowed`` if it is no
    storage, ``OSError``, ``ValueError`` or ``ImportError``.
    """
    _check(uri)
    with as_os_error():
        filesystem: tuple[Any, str] = fsspec.core.url_to_fs(uri, **_options(uri))
    return filesystem


def open_uri(uri: str, compression: str | None) -> Any:
    _check(uri)
    with as_os_error():
        return fsspec.open(uri, "rb", compression=compression, **_options(uri)).open()


def _check(uri: str) -> None:
    check_uri(uri)
    if refused := refusal_of_chain(uri):
        raise NotAllowed(refused)


def _options(uri: str) -> dict[str, Any]:
    return {
        scheme: {"get_client": _checked_client} for scheme in schemes_of(uri) & {"http", "https"}
    }


async def _checked_client(**options: Any) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(socket_factory=checked_socket), trust_env=False, **options
    )
