"""Requests to an API server: one page of a list, or the changes of a watch, each bounded in time
and size.

Only GET, only the address that was given: no proxy of the environment is used and no redirect is
followed.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import aiohttp
from yarl import URL

from ingest import json_bounds
from ingest.discovery.kubernetes.access import ApiServer
from ingest.errors import Skipped
from ingest.messages import message
from ingest.network.clusters import RefusedAddress, checked_socket

PAGE_BYTES = 32 * 1024 * 1024
PAGE_TIMEOUT_S = 10.0
CONNECT_TIMEOUT_S = 5.0
OBJECT_BYTES = 4 * 1024 * 1024
"""Of one line of a watch; etcd holds objects of at most 1.5 MiB."""
WATCH_BYTES = 64 * 1024 * 1024
PAGE_VALUES, OBJECT_VALUES = 1_500_000, 200_000
LONGEST_PAUSE_S = 300


class ApiFault(Skipped):
    """``status`` is 0 where no answer came.

    ``pause_s``: how long the server wants to be left alone.
    """

    def __init__(self, text: str, status: int = 0, pause_s: float = 0) -> None:
        super().__init__(text)
        self.status, self.pause_s = status, pause_s


@dataclass(frozen=True, slots=True)
class Change:
    """``type``: ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: dict[str, Any]


class Api:
    """Use as ``async with Api(server) as api``.

    What it raises holds no secret, and nothing of what the server answered but its status.
    """

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        headers = {"Accept": "application/json", "User-Agent": "weir"}
        if self._server.token:
            headers["Authorization"] = f"Bearer {self._server.token}"
        tls: Any = self._server.tls if self._server.tls is not None else True
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=8, socket_factory=checked_socket, ssl=tls),
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            read_bufsize=256 * 1024,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session:
            await self._session.close()

    async def page(self, path: str, parameters: dict[str, str]) -> dict[str, Any]:
        """A list object, with ``items`` and ``metadata``. Raises ``ApiFault``."""
        try:
            async with (
                asyncio.timeout(PAGE_TIMEOUT_S),
                await self._send(path, parameters) as response,
            ):
                content = bytearray()
                async for piece in response.content.iter_any():
                    content += piece
                    if len(content) > PAGE_BYTES:
                        raise ApiFault(
                            message(
                                "{path:name} answers more than {page_bytes:number} MiB",
                                path=path,
                                page_bytes=PAGE_BYTES >> 20,
                            ),
                            response.status,
                        )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._fault(error, path) from error
        document = _decoded(bytes(content), PAGE_VALUES, path)
        if not isinstance(document.get("items"), list) or not isinstance(
            document.get("metadata"), dict
        ):
            raise ApiFault(
                message("{path:name} answers something that is not a Kubernetes list", path=path),
                200,
            )
        return document

    async def watch(
        self, path: str, parameters: dict[str, str], within_s: float
    ) -> AsyncIterator[Change]:
        """What changed, until the server ends it or ``within_s`` are over. A last line that is not
        whole is left out. Raises ``ApiFault``, of status 410 where what changed since then is not
        known any more.
        """
        rest, taken = b"", 0
        try:
            async with asyncio.timeout(within_s):
                async with await self._send(path, parameters) as response:
                    async for piece in response.content.iter_any():
                        taken += len(piece)
                        *lines, rest = (rest + piece).split(b"\n")
                        if (
                            taken > WATCH_BYTES
                            or len(rest) > OBJECT_BYTES
                            or any(len(line) > OBJECT_BYTES for line in lines)
                        ):
                            raise ApiFault(
                                message(
                                    "{path:name} sends more changes, or a larger object, than is "
                                    "read at a time",
                                    path=path,
                                ),
                                200,
                            )
                        for line in filter(bytes.strip, lines):
                            yield _change(line, path)
        except TimeoutError:
            return
        except (aiohttp.ClientPayloadError, ConnectionResetError):
            return
        except (aiohttp.ClientError, OSError) as error:
            raise self._fault(error, path) from error

    async def _send(self, path: str, parameters: dict[str, str]) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("Api is used outside of its 'async with'")
        response = await self._session.get(
            URL(self._server.url + path).with_query(parameters),
            allow_redirects=False,
            server_hostname=self._server.server_name or None,
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=PAGE_TIMEOUT_S
            ),
        )
        if response.status == 200:
            return response
        pause_s = _seconds(response.headers.get("Retry-After", ""))
        status = response.status
        response.close()
        meaning = _MEANING.get(status) or message("HTTP {status:number}", status=status)
        raise ApiFault(
            message("{path:name} is answered by {meaning:text}", path=path, meaning=meaning),
            status,
            pause_s,
        )

    def _fault(self, error: Exception, path: str) -> ApiFault:
        host = self._server.url
        if isinstance(error, TimeoutError):
            return ApiFault(
                message(
                    "{path:name} is not answered within {page_timeout_s:number} s by {host:name}",
                    path=path,
                    page_timeout_s=PAGE_TIMEOUT_S,
                    host=host,
                )
            )
        if isinstance(
            error,
            aiohttp.ClientConnectorCertificateError
            | aiohttp.ClientConnectorSSLError
            | aiohttp.ClientSSLError,
        ):
            return ApiFault(
                message(
                    "no trusted TLS connection to {host:name} could be made; check "
                    "certificate authority, client certificate and name",
                    host=host,
                )
            )
        if isinstance(error, aiohttp.ClientConnectorError) and isinstance(
            error.os_error, RefusedAddress
        ):
            return ApiFault(
                message(
                    "{host:name} is not asked: {strerror:name}",
                    host=host,
                    strerror=str(error.os_error.strerror),
                )
            )
        if isinstance(error, aiohttp.ClientConnectorError):
            return ApiFault(message("{host:name} cannot be reached", host=host))
        return ApiFault(
            message("{host:name} does not answer {path:name} completely", host=host, path=path)
        )


_MEANING = {
    401: message(
        "HTTP 401: the token or certificate is not known to the API server, or has expired"
    ),
    403: message("HTTP 403: RBAC does not allow 'list' and 'watch' of it"),
    404: message("HTTP 404: there is no such resource; is its CustomResourceDefinition installed?"),
    410: message("HTTP 410: that version is no longer available"),
    429: message("HTTP 429: the API server is overloaded"),
}


def _change(line: bytes, path: str) -> Change:
    document = _decoded(line, OBJECT_VALUES, path)
    kind, resource = document.get("type"), document.get("object")
    if not isinstance(kind, str) or not isinstance(resource, dict):
        raise ApiFault(
            message("{path:name} sends something that is not a watch event", path=path), 200
        )
    if kind == "ERROR":
        code = resource.get("code")
        status = code if isinstance(code, int) else 0
        meaning = _MEANING.get(status) or message(
            "an error of its watch ({status:number})", status=status
        )
        raise ApiFault(
            message("{path:name} is answered by {meaning:text}", path=path, meaning=meaning), status
        )
    return Change(kind, resource)


def _decoded(content: bytes, most: int, path: str) -> dict[str, Any]:
    try:
        document = json_bounds.decoded(content, most)[0]
    except json_bounds.TooManyValues as error:
        raise ApiFault(
            message("{path:name} was not read: {error:text}", path=path, error=str(error)), 200
        ) from error
    except (json.JSONDecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ApiFault(
            message("{path:name} does not answer with a complete JSON document", path=path), 200
        ) from error
    if not isinstance(document, dict):
        raise ApiFault(
            message("{path:name} answers something that is not a Kubernetes object", path=path), 200
        )
    return document


def _seconds(text: str) -> float:
    return (
        min(float(text), LONGEST_PAUSE_S)
        if text.isascii() and text.isdigit() and len(text) < 10
        else 0
    )
