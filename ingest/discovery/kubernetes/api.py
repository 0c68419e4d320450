"""Requests to an API server: one page of a list, bounded in time and size.

Only GET, only the given address: no proxy of the environment is used and no redirect is followed.
"""

import asyncio
import json
from types import TracebackType
from typing import Any, Self

import aiohttp
from yarl import URL

from ingest import json_bounds
from ingest.discovery.kubernetes.access import ApiServer
from ingest.errors import Skipped
from ingest.network.clusters import RefusedAddress, checked_socket

PAGE_BYTES = 32 * 1024 * 1024
PAGE_TIMEOUT_S = 10.0
CONNECT_TIMEOUT_S = 5.0
PAGE_VALUES = 1_500_000


class ApiFault(Skipped):
    """``status`` is 0 if no answer came."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class Api:
    """Errors contain no secret, and nothing of the server's answer but its status."""

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
                            f"{path} answers more than {PAGE_BYTES >> 20} MiB",
                            response.status,
                        )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._fault(error, path) from error
        document = _decode(bytes(content), path)
        if not isinstance(document.get("items"), list) or not isinstance(
            document.get("metadata"), dict
        ):
            raise ApiFault(
                f"{path} answers something that is not a Kubernetes list",
                200,
            )
        return document

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
        status = response.status
        response.close()
        meaning = _MEANING.get(status) or f"HTTP {status}"
        raise ApiFault(
            f"{path} is answered by {meaning}",
            status,
        )

    def _fault(self, error: Exception, path: str) -> ApiFault:
        host = self._server.url
        if isinstance(error, TimeoutError):
            return ApiFault(f"{path} is not answered within {PAGE_TIMEOUT_S:g} s by {host}")
        if isinstance(
            error,
            aiohttp.ClientConnectorCertificateError
            | aiohttp.ClientConnectorSSLError
            | aiohttp.ClientSSLError,
        ):
            return ApiFault(
                f"no trusted TLS connection to {host} could be made; check "
                "certificate authority, client certificate and name"
            )
        if isinstance(error, aiohttp.ClientConnectorError) and isinstance(
            error.os_error, RefusedAddress
        ):
            return ApiFault(f"{host} is not asked: {error.os_error.strerror}")
        if isinstance(error, aiohttp.ClientConnectorError):
            return ApiFault(f"{host} cannot be reached")
        return ApiFault(f"{host} does not answer {path} completely")


_MEANING = {
    401: ("HTTP 401: the token or certificate is not known to the API server, or has expired"),
    403: "HTTP 403: RBAC does not allow 'list' of it",
    404: "HTTP 404: there is no such resource; is its CustomResourceDefinition installed?",
    410: "HTTP 410: that version is no longer available",
    429: "HTTP 429: the API server is overloaded",
}


def _decode(content: bytes, path: str) -> dict[str, Any]:
    try:
        document = json_bounds.decoded(content, PAGE_VALUES)[0]
    except json_bounds.TooManyValues as error:
        raise ApiFault(f"{path} was not read: {error}", 200) from error
    except (json.JSONDecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ApiFault(f"{path} does not answer with a complete JSON document", 200) from error
    if not isinstance(document, dict):
        raise ApiFault(f"{path} answers something that is not a Kubernetes object", 200)
    return document
