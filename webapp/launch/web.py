"""The web server: waitress in a few processes that share one address. waitress reads a whole
request before a thread handles it, and buffers responses: a slow client only costs a connection.
"""

import argparse
import logging
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

import waitress
from django.conf import settings

from ingest.parent_death import die_with_parent
from webapp.launch.access_log import AccessLog

MOST_CONNECTIONS = 400
"""Per process. A connection is an open file, and its response may be buffered in a second one."""
IDLE_S = 60
HEADER_BYTES = 64 * 1024
BODY_BYTES = 16 * 1024 * 1024
ANSWER_BYTES = 256 * 1024 * 1024
"""A response is buffered up to this size for a slow client, in a temporary file from 1 MiB on,
before the thread waits for the client.
"""

STOPS = (signal.SIGTERM, signal.SIGINT)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m webapp.launch.web", description="Serve pages and the API."
    )
    parser.add_argument("--bind", default="127.0.0.1:8000", metavar="HOST:PORT")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--threads", type=int, default=4, help="requests that each process works on at a time"
    )
    options = parser.parse_args(arguments)
    host, _colon, port = options.bind.rpartition(":")
    listener = _listen(host.strip("[]"), int(port))
    # Before the forks: the processes share most of the memory.
    from webapp.config.wsgi import application
    from webapp.lib import scopes

    # the Redis client is loaded before the first request
    from webapp.work import broker  # noqa: F401

    scopes.close()
    parent, children = os.getpid(), list[int]()
    # A signal while processes are started is handled when all of them can stop.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    for _ in range(options.processes):
        child = os.fork()
        if child == 0:
            die_with_parent(parent)
            _serve(
                AccessLog(application, logging.getLogger("webapp.launch.web.access").info),
                listener,
                options.threads,
            )
            return 0
        children.append(child)
    return _supervise(children)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=1024)
    listener.setblocking(False)
    return listener


def _serve(application: AccessLog, listener: socket.socket, threads: int) -> None:
    signal.signal(signal.SIGTERM, _exit)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    server = waitress.create_server(
        application,
        sockets=[listener],
        threads=threads,
        ident=None,
        connection_limit=MOST_CONNECTIONS,
        channel_timeout=IDLE_S,
        max_request_header_size=HEADER_BYTES,
        max_request_body_size=BODY_BYTES,
        outbuf_high_watermark=ANSWER_BYTES,
        log_socket_errors=False,
        # Django's settings decide whether these headers count.
        clear_untrusted_proxy_headers=not settings.WEIR.behind_proxy,
    )
    server.run()


def _exit(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def _supervise(children: Sequence[int]) -> int:
    is_stopping = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal is_stopping
        is_stopping = True
        _end(children)

    for number in STOPS:
        signal.signal(number, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    ended, _status = os.wait()
    remaining = [child for child in children if child != ended]
    _end(remaining)
    for child in remaining:
        os.waitpid(child, 0)
    return 0 if is_stopping else 1


def _end(children: Sequence[int]) -> None:
    for child in children:
        with suppress(ProcessLookupError):  # it has already ended
            os.kill(child, signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
