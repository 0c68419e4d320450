"""The worker class that gunicorn runs: waitress in front of Django.

gunicorn keeps the processes; waitress, whose one loop reads and writes for all connections, gives complete requests to
threads. Its settings: ``gunicorn --worker-class webapp.web.worker.BufferedWorker --threads N``.
"""

import logging
import os
import resource
import time
from typing import Any

from django.conf import settings
from gunicorn.workers.base import Worker
from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.task import ThreadedTaskDispatcher

from webapp.lib import scopes
from webapp.web.access_log import AccessLog
from webapp.web.channels import BoundedServer

MOST_CONNECTIONS = 1000
HEADER_BYTES = 64 * 1024
BODY_BYTES = 16 * 1024 * 1024
ANSWER_BYTES = 256 * 1024 * 1024
"""As much of an answer is kept for a slow reader, beyond a MiB in a temporary file, before its thread waits for it."""
LOOP_S = 0.5


class BufferedWorker(Worker):
    def run(self) -> None:
        from webapp.work import broker  # noqa: F401 - the way to Redis is loaded before anybody waits for it

        scopes.close()
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        sockets: dict[int, object] = {}
        threads = ThreadedTaskDispatcher()
        threads.set_thread_count(self.cfg.threads)
        application = AccessLog(self.wsgi, self.log.access_log.info) if self.cfg.accesslog else self.wsgi
        servers = [self._server(application, one, sockets, threads) for one in self.sockets]
        most = _most_connections() // len(servers)
        while self.alive and os.getppid() == self.ppid:
            self.notify()
            wasyncore.loop(timeout=LOOP_S, count=1, map=sockets, use_poll=True)
            for server in servers:
                server.enforce(most)
        self._finish(servers, sockets)
        threads.shutdown(timeout=1)

    def _server(self, application: object, listener: Any, sockets: dict[int, object], threads: ThreadedTaskDispatcher) -> BoundedServer:
        listening = listener.sock  # of gunicorn's wrapper
        listening.setblocking(False)
        adjustments = Adjustments(
            sockets=[listening],
            ident="",
            connection_limit=10**9,  # see BoundedServer.enforce
            max_request_header_size=HEADER_BYTES,
            max_request_body_size=BODY_BYTES,
            outbuf_high_watermark=ANSWER_BYTES,
            log_socket_errors=False,
            # Who may set them is a matter of Django's settings.
            clear_untrusted_proxy_headers=not settings.WEIR.behind_proxy,
        )
        address = (listening.family, listening.type, listening.proto, listening.getsockname())
        return BoundedServer(application, sockets, True, listening, threads, adjustments, address, bind_socket=False)

    def _finish(self, servers: list[BoundedServer], sockets: dict[int, object]) -> None:
        """Requests that are complete are answered, within the time that gunicorn gives."""
        until = time.monotonic() + self.cfg.graceful_timeout - 1
        for server in servers:
            server.accepting = False
        while time.monotonic() < until:
            channels = [channel for server in servers for channel in list(server.active_channels.values())]
            for channel in (one for one in channels if not one.is_served and not one.total_outbufs_len):
                channel.handle_close()
            if not any(server.active_channels for server in servers):
                return
            self.notify()
            wasyncore.loop(timeout=0.1, count=1, map=sockets, use_poll=True)


def _most_connections() -> int:
    """Each connection is an open file, and may have another one for what its client has not taken yet."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST_CONNECTIONS + 200
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(20, min(MOST_CONNECTIONS, (soft - 200) // 2))
