"""Sends requests and mails, limited in time and memory, on an event loop in a thread. Answers come
in the queue :attr:`Network.results`.
"""

import asyncio
import contextlib
import queue
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import yarl

from webapp.delivery.addresses import Policy
from webapp.delivery.formats.base import Mail, Outgoing, Rendered
from webapp.delivery.mail import MailFailed, send_mail
from webapp.delivery.targets import CheckedResolver, RefusedTarget, parse_target

CONNECT_S, WHOLE_S = 5, 15
MOST_READ_BYTES = 64 << 10
USER_AGENT = "Weir/1 (+alert delivery)"
_NAME_THREADS, _MAIL_THREADS = 16, 4


@dataclass(frozen=True)
class Answer:
    """``error``: a code; "" if there was an answer. ``body``: at most 64 KiB."""

    latency_ms: int
    status: int | None = None
    error: str = ""
    detail: str = ""
    retry_after: str = ""
    body: bytes = field(default=b"", repr=False)


class Network:
    """``results``: (tag, answer) for each :meth:`send`."""

    def __init__(self, rules: Policy) -> None:
        self.rules = rules
        self.timeout = aiohttp.ClientTimeout(
            total=WHOLE_S, connect=CONNECT_S, sock_connect=CONNECT_S
        )
        self.results: queue.SimpleQueue[tuple[Any, Answer]] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._names = ThreadPoolExecutor(_NAME_THREADS, "weir-names")
        self._mails = ThreadPoolExecutor(_MAIL_THREADS, "weir-mails")
        self._sessions: dict[str, aiohttp.ClientSession] = {}
        self._thread = threading.Thread(target=self._run, name="weir-delivery", daemon=True)

    def __enter__(self) -> "Network":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._names.shutdown(wait=False, cancel_futures=True)
        self._mails.shutdown(wait=False, cancel_futures=True)

    def send(self, tag: Any, rendered: Rendered) -> None:
        """The answer is in :attr:`results` within the time-out."""
        asyncio.run_coroutine_threadsafe(self._attempt(tag, rendered), self._loop)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(self._close())
            self._loop.close()

    async def _close(self) -> None:
        for session in self._sessions.values():
            await session.close()

    def _session(self, scheme: str) -> aiohttp.ClientSession:
        if scheme not in self._sessions:
            connector = aiohttp.TCPConnector(
                resolver=CheckedResolver(scheme, self.rules, self._names),
                use_dns_cache=False,
                limit=0,
                # Receivers may close an idle connection; a POST on it would count as failed.
                keepalive_timeout=2,
                ssl=ssl.create_default_context(),
            )
            self._sessions[scheme] = aiohttp.ClientSession(
                connector=connector,
                timeout=self.timeout,
                trust_env=False,
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"user-agent": USER_AGENT, "accept-encoding": "identity"},
                loop=self._loop,
            )
        return self._sessions[scheme]

    async def _attempt(self, tag: Any, rendered: Rendered) -> None:
        began = time.monotonic()

        def elapsed() -> int:
            return int((time.monotonic() - began) * 1000)

        try:
            answer = await (
                self._mail(rendered, elapsed)
                if isinstance(rendered, Mail)
                else self._post(rendered, elapsed)
            )
        except RefusedTarget as refused:
            answer = Answer(elapsed(), error="refused_target", detail=str(refused))
        except Exception as error:
            # Any error has to release the delivery. Texts of errors may contain addresses.
            code = code_of(error)
            answer = Answer(
                elapsed(), error=code, detail=type(error).__name__ if code == "failed" else ""
            )
        self.results.put((tag, answer))

    async def _post(self, outgoing: Outgoing, elapsed: Callable[[], int]) -> Answer:
        target = parse_target(outgoing.url, self.rules)
        session = self._session(target.scheme)
        address = yarl.URL(target.url, encoded=True)
        async with session.post(
            address, data=outgoing.body, headers=outgoing.headers, allow_redirects=False
        ) as response:
            body = b""
            # If the body cannot be read, the status counts; formats that need a body report it.
            with contextlib.suppress(aiohttp.ClientError, TimeoutError, ValueError):
                while len(body) < MOST_READ_BYTES:
                    chunk = await response.content.read(MOST_READ_BYTES - len(body))
                    if not chunk:
                        break
                    body += chunk
            if not response.content.at_eof():
                # Otherwise aiohttp would read the rest of the body, which may never end.
                response.close()
            return Answer(
                elapsed(),
                response.status,
                retry_after=response.headers.get("retry-after", "")[:100],
                body=body,
            )

    async def _mail(self, mail: Mail, elapsed: Callable[[], int]) -> Answer:
        try:
            reply = await asyncio.wait_for(
                self._loop.run_in_executor(self._mails, send_mail, mail), self.timeout.total
            )
        except MailFailed as failed:
            return Answer(elapsed(), failed.status, error="mail", detail=failed.args[0])
        return Answer(elapsed(), 250, body=reply.encode())


_CODES: tuple[tuple[str, tuple[type[BaseException], ...]], ...] = (
    ("timeout", (TimeoutError, aiohttp.ServerTimeoutError)),
    (
        "tls",
        (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError, ssl.SSLError),
    ),
    ("unknown_name", (aiohttp.ClientConnectorDNSError,)),
    ("no_connection", (aiohttp.ClientConnectorError,)),
    (
        "connection_lost",
        (aiohttp.ServerDisconnectedError, ConnectionError, aiohttp.ClientOSError),
    ),
    (
        "no_http",
        (aiohttp.ClientResponseError, aiohttp.ClientPayloadError, aiohttp.http.HttpProcessingError),
    ),
)
"""Subclasses come before their bases."""


def code_of(error: BaseException) -> str:
    return next((code for code, kinds in _CODES if isinstance(error, kinds)), "failed")
