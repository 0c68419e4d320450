"""Requests to one JobManager or History Server: bounded in number, time and size.

Requests are GET and go only to the registered address: through no proxy of the environment, and
along no redirect to another address. No message, log line or ``repr`` has a secret, even if the
server sends it back.
"""

import asyncio
import contextlib
import errno
import os
import ssl
import time
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from random import SystemRandom
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

import aiohttp
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
)
from yarl import URL

from ingest import json_bounds
from ingest.errors import Refused
from ingest.flink_rest.address import Address, parse_address
from ingest.flink_rest.faults import BadAnswer, Unanswered, fault_of_status
from ingest.json_bounds import MAX_HELD_BYTES, TooManyValues
from ingest.messages import message
from ingest.network import kerberos
from ingest.network.clusters import RefusedAddress, checked_socket
from ingest.sources import Auth, ClusterSource, Tls

REQUESTS_AT_ONCE = 2
SAME_PATH_PAUSE_S = 3.0


class Gate:
    """Bounds concurrent requests, and pauses between requests of a path."""

    def __init__(self, same_path_pause_s: float = SAME_PATH_PAUSE_S) -> None:
        self.same_path_pause_s = same_path_pause_s
        self._slots = asyncio.Semaphore(REQUESTS_AT_ONCE)
        self._last_request: dict[str, float] = {}
        self._forget_at = 2_000

    @contextlib.asynccontextmanager
    async def turn(self, path: str) -> AsyncIterator[None]:
        # Wait again if another task has requested the path meanwhile.
        while (wait_s := self._wait_s(path)) > 0:  # noqa: ASYNC110
            await asyncio.sleep(wait_s)
        self._last_request[path] = time.monotonic()
        self._forget_old()
        async with self._slots:
            try:
                yield
            finally:
                self._last_request[path] = time.monotonic()

    def _wait_s(self, path: str) -> float:
        last = self._last_request.get(path)
        return 0.0 if last is None else last + self.same_path_pause_s - time.monotonic()

    def _forget_old(self) -> None:
        if len(self._last_request) < self._forget_at:
            return
        oldest = time.monotonic() - self.same_path_pause_s
        self._last_request = {path: at for path, at in self._last_request.items() if at > oldest}
        self._forget_at = 2 * len(self._last_request) + 2_000


class Gates:
    def __init__(self, same_path_pause_s: float = SAME_PATH_PAUSE_S) -> None:
        self._pause_s = same_path_pause_s
        self._gates: dict[str, Gate] = {}

    def of(self, url: str) -> Gate:
        return self._gates.setdefault(parse_address(url, None).origin, Gate(self._pause_s))


def tls_context(tls: Tls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise Refused(
            message(
                "The CA file {ca_file:name} is not a readable PEM file of certificates.",
                ca_file=tls.ca_file,
            )
        ) from error
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.client_cert_file:
        try:
            # An empty password keeps OpenSSL from asking for one on the terminal.
            context.load_cert_chain(tls.client_cert_file, tls.client_key_file or None, password="")
        except (OSError, ssl.SSLError) as error:
            raise Refused(
                message(
                    "The client certificate {client_cert_file:name} and its key do not load; both "
                    "must be PEM, the key without a password.",
                    client_cert_file=tls.client_cert_file,
                )
            ) from error
    return context


GZIP_OR_ZLIB = 47
"""``wbits`` with which zlib reads either header."""


async def read_body(
    chunks: AsyncIterable[bytes], encoding: str, limit_bytes: int, path: str
) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in unpack(chunks, encoding, limit_bytes, path):
        size += len(piece)
        if size > limit_bytes:
            raise too_large(path, limit_bytes)
        pieces.append(piece)
    return b"".join(pieces)


async def read_beginning(
    chunks: AsyncIterable[bytes], encoding: str, limit_bytes: int, path: str
) -> bytes:
    body = b""
    with contextlib.suppress(BadAnswer):
        async for piece in unpack(chunks, encoding, limit_bytes, path):
            body += piece
            if len(body) >= limit_bytes:
                break
    return body[:limit_bytes]


async def unpack(
    chunks: AsyncIterable[bytes], encoding: str, limit_bytes: int, path: str
) -> AsyncIterable[bytes]:
    """The chunks, decompressed if they are gzip or deflate: then ``limit_bytes`` at most."""
    if encoding in ("", "identity"):
        async for chunk in chunks:
            yield chunk
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise _still_packed(path, encoding)
    decompressor, left_bytes = zlib.decompressobj(GZIP_OR_ZLIB), limit_bytes
    try:
        async for chunk in chunks:
            piece = decompressor.decompress(chunk, left_bytes + 1)
            left_bytes -= len(piece)
            if left_bytes < 0:
                raise too_large(path, limit_bytes)
            yield piece
    except zlib.error as error:
        raise _still_packed(path, encoding) from error


def _still_packed(path: str, encoding: str) -> BadAnswer:
    return BadAnswer(
        message(
            "{path:name} was answered with encoding {encoding:name}, and cannot be decompressed.",
            path=path,
            encoding=encoding[:40],
        ),
        "http_error",
    )


def too_large(path: str, limit_bytes: int) -> BadAnswer:
    mebibytes = limit_bytes / (1024 * 1024)
    return BadAnswer(
        message(
            "{path:name} answered more than {mebibytes:name} MiB and was cut off there.",
            path=path,
            mebibytes=f"{mebibytes:.4g}",
        ),
        "too_large",
    )


CONNECT_TIMEOUT_S = 5.0
CONNECT_AGAIN_AFTER_S = 0.4
ATTEMPTS = 3
SAME_ADDRESS_REDIRECTS = 3
ERROR_BODY_BYTES = 16 * 1024
MAX_RESPONSE_BYTES = 64 * 1024 * 1024


OnAnswer = Callable[[str, int, Any], None]
"""Called for each request: path, status (0 = no answer), decoded body or ``{"errors": [text]}``."""


class RestClient:
    """``request_timeout_s``: from connecting to the last byte. ``server_name``: name in the
    certificate, if it is not the host. ``held_bytes``: memory of all answers; above
    ``MAX_HELD_BYTES``, no more requests are sent. ``lenient``: answers may have bytes that are not
    UTF-8.
    """

    def __init__(
        self,
        url: str,
        *,
        auth: Auth | None = None,
        tls: Tls | ssl.SSLContext | None = None,
        server_name: str = "",
        request_timeout_s: float = 10,
        max_response_bytes: int = 0,
        gate: Gate | None = None,
        on_answer: OnAnswer | None = None,
        headers: Mapping[str, str] | None = None,
        lenient: bool = False,
    ) -> None:
        self.address: Address = parse_address(url, auth)
        self.requests = 0
        self.held_bytes = 0
        self._tls = tls or Tls()
        self._server_name = server_name or None
        self._timeout_s = request_timeout_s
        self._max_bytes = max_response_bytes or MAX_RESPONSE_BYTES
        self._gate = gate or Gate()
        self._on_answer = on_answer or (lambda path, status, body: None)
        self._headers = dict(headers or {})
        self._lenient = lenient
        self._negotiates = auth is not None and auth.scheme == "kerberos"
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"RestClient({self.address.base!r})"

    async def __aenter__(self) -> Self:
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "User-Agent": "weir",
            **self._headers,
        }
        if self.address.authorization:
            headers["Authorization"] = self.address.authorization
        tls: ssl.SSLContext | bool = True
        if self.address.origin.startswith("https:"):
            tls = self._tls if isinstance(self._tls, ssl.SSLContext) else tls_context(self._tls)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, socket_factory=checked_socket, ssl=tls),
            timeout=aiohttp.ClientTimeout(
                total=self._timeout_s, connect=min(CONNECT_TIMEOUT_S, self._timeout_s)
            ),
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_raised: object) -> None:
        if self._session:
            await self._session.close()

    async def get(self, path: str) -> Any:
        try:
            if self.held_bytes > MAX_HELD_BYTES:
                raise BadAnswer(
                    message(
                        "{path:name} was not requested: earlier answers already take "
                        "{held_bytes:count} bytes.",
                        path=path,
                        held_bytes=self.held_bytes,
                    ),
                    "over_budget",
                )
            body = await self._get_with_retries(path)
        except (BadAnswer, Unanswered) as error:
            self._on_answer(
                path, error.status or 0, {"errors": [str(error)], "reason": error.reason}
            )
            raise
        document = self._decode(body, path)
        self._on_answer(path, 200, document)
        return document

    def _decode(self, body: bytes, path: str) -> Any:
        try:
            document, held_bytes = json_bounds.decoded(body, lenient=self._lenient)
        except TooManyValues as error:
            raise BadAnswer(
                message("{path:name} was not read: {error:text}.", path=path, error=str(error)),
                "too_large",
                200,
            ) from error
        except (ValueError, RecursionError) as error:
            raise BadAnswer(
                message(
                    "{path:name} answered {what_it_is:text} instead of JSON.",
                    path=path,
                    what_it_is=_describe(body),
                ),
                "bad_json",
                200,
            ) from error
        self.held_bytes += held_bytes
        return document

    async def stream(self, path: str) -> AsyncIterator[bytes]:
        """The body in pieces as they arrive. Not retried. The caller bounds the size."""
        async with self._gate.turn(path):
            try:
                async with await self._send(path) as response:
                    if response.status != 200:
                        await response.content.read(ERROR_BODY_BYTES)
                        raise fault_of_status(response.status, path)
                    async for piece in unpack(
                        response.content.iter_any(), _encoding(response), self._max_bytes, path
                    ):
                        yield piece
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise self._transport_fault(error, path) from error

    async def _get_with_retries(self, path: str) -> bytes:
        async with self._gate.turn(path):
            attempts = AsyncRetrying(
                retry=retry_if_exception_type(Unanswered),
                wait=self._pause_s,
                stop=stop_after_attempt(ATTEMPTS) | stop_after_delay(2 * self._timeout_s),
                reraise=True,
            )
            return await attempts(self._request_once, path)

    def _pause_s(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        was_connected = not isinstance(error, Unanswered) or error.connected
        pause_s = (
            self._gate.same_path_pause_s
            if was_connected
            else min(CONNECT_AGAIN_AFTER_S, self._gate.same_path_pause_s)
        )
        return pause_s * SystemRandom().uniform(1, 1.5)

    async def _request_once(self, path: str) -> bytes:
        try:
            async with await self._send(path) as response:
                if response.status != 200:
                    # The body is read so that the connection can be reused.
                    body = await read_beginning(
                        response.content.iter_any(), _encoding(response), ERROR_BODY_BYTES, path
                    )
                    raise fault_of_status(response.status, path, body.decode(errors="replace"))
                if (response.content_length or 0) > self._max_bytes:
                    raise too_large(path, self._max_bytes)
                return await read_body(
                    response.content.iter_any(), _encoding(response), self._max_bytes, path
                )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._transport_fault(error, path) from error

    async def _send(self, path: str) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("RestClient is used outside of its 'async with'")
        url = self.address.base + path
        for _ in range(SAME_ADDRESS_REDIRECTS + 1):
            self.requests += 1
            response = await self._session.get(
                URL(url, encoded=True),
                headers=await self._kerberos_header(path),
                allow_redirects=False,
                server_hostname=self._server_name,
            )
            if response.status not in (301, 302, 303, 307, 308):
                return response
            target = urljoin(url, response.headers.get("Location", ""))
            response.release()
            parts = urlsplit(target)
            if f"{parts.scheme}://{parts.netloc}" != self.address.origin:
                host = self.address.hide(parts.hostname or "nowhere")
                raise BadAnswer(
                    message(
                        "{path:name} is redirected to {host:name}; register the address that "
                        "it redirects to.",
                        path=path,
                        host=host,
                    ),
                    "redirected",
                    response.status,
                )
            url = target
        raise BadAnswer(message("{path:name} is redirected in a loop.", path=path), "redirected")

    async def _kerberos_header(self, path: str) -> dict[str, str]:
        if not self._negotiates:
            return {}
        try:
            async with asyncio.timeout(self._timeout_s):
                return {
                    "Authorization": await kerberos.authorization(
                        urlsplit(self.address.origin).hostname or ""
                    )
                }
        except kerberos.NoTicket as error:
            raise BadAnswer(str(error), "unauthorized") from error
        except TimeoutError as error:
            why = message(
                "{path:name} was not asked: no KDC of Kerberos answered within {timeout_s:number} "
                "s.",
                path=path,
                timeout_s=self._timeout_s,
            )
            raise Unanswered(why, "timeout", connected=False) from error

    def _transport_fault(self, error: Exception, path: str) -> Exception:
        base = self.address.base
        if isinstance(error, TimeoutError):
            return Unanswered(
                message(
                    "{path:name} was not answered within {timeout_s:number} s by {base:name}.",
                    path=path,
                    timeout_s=self._timeout_s,
                    base=base,
                ),
                "timeout",
            )
        if isinstance(error, aiohttp.ClientSSLError):
            return BadAnswer(
                message(
                    "No trusted TLS connection to {base:name}: {tls_reason:name}. Check its CA "
                    "file and certificates.",
                    base=base,
                    tls_reason=_tls_reason(error),
                ),
                "tls",
            )
        if isinstance(error, aiohttp.ClientConnectorError) and isinstance(
            error.os_error, RefusedAddress
        ):
            return BadAnswer(
                message(
                    "{base:name} is not asked: {strerror:name}.",
                    base=base,
                    strerror=str(error.os_error.strerror),
                ),
                "refused_address",
            )
        if isinstance(error, aiohttp.ClientConnectorError):
            why = os.strerror(error.os_error.errno) if error.os_error.errno else "no connection"
            return Unanswered(
                message("{base:name} cannot be reached ({why:text}).", base=base, why=why),
                "unreachable",
                connected=False,
                refused=error.os_error.errno == errno.ECONNREFUSED,
            )
        if isinstance(error, aiohttp.ClientResponseError | aiohttp.InvalidURL):
            return BadAnswer(
                message(
                    "{path:name} was answered by something that does not speak HTTP as expected.",
                    path=path,
                ),
                "http_error",
            )
        return Unanswered(
            message(
                "{base:name} closed the connection before {path:name} was answered completely.",
                base=base,
                path=path,
            ),
            "unreachable",
        )


def client_of(
    source: ClusterSource, url: str, gate: Gate | None = None, on_answer: OnAnswer | None = None
) -> RestClient:
    return RestClient(
        url,
        auth=source.auth,
        tls=source.tls,
        request_timeout_s=source.request_timeout_s,
        gate=gate,
        on_answer=on_answer,
    )


def _encoding(response: aiohttp.ClientResponse) -> str:
    return response.headers.get("Content-Encoding", "").strip().lower()


def _tls_reason(error: Exception) -> str:
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    return str(
        getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or type(cause).__name__
    )


def _describe(body: bytes) -> str:
    start = body[:200].lstrip()
    if not start:
        return "nothing"
    if start[:1] == b"<":
        return "HTML"
    return "an incomplete JSON document" if start[:1] in b"{[" else "text"
