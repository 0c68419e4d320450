"""The web server, the Celery workers and the beat, as they are started on one machine."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from ipaddress import ip_address
from pathlib import Path

from webapp.supervisor.child import Process, Program, start_anew
from webapp.supervisor.ports import listens

Start = Callable[[Program], Process]

WEB_PROCESSES, WEB_THREADS = 2, 4
STOPPED_AT_MOST_S = 30
QUEUES = ("collect", "spark", "storage", "alerts", "default")
"""A worker each, so that a long Spark cycle never holds up a collection."""
PROCESSES = {"alerts": 2, "collect": 2, "spark": 2}
"""One, unless said here: a slow receiver must not hold up the next evaluation, nor a slow JobManager the others, nor roll-ups the next
cycle."""


def web(bind: str, project: Path, environment: Mapping[str, str]) -> Program:
    host, _colon, port = bind.rpartition(":")
    command = [
        *(sys.executable, "-m", "webapp.web", "--bind", bind),
        *("--processes", str(WEB_PROCESSES), "--threads", str(WEB_THREADS)),
    ]
    reachable = "127.0.0.1" if not host or ip_address(host).is_unspecified else host.strip("[]")
    return Program("web", command, environment, project, ready=partial(listens, reachable, int(port)), ready_within_s=120)


def worker(queue: str, project: Path, environment: Mapping[str, str], start: Start = start_anew) -> Program:
    command = [
        *_celery("worker"),
        *("--queues", queue, "--hostname", f"{queue}@weir"),
        *("--concurrency", str(PROCESSES.get(queue, 1)), "-O", "fair", "--loglevel", "INFO"),
        # One machine, one worker per queue: there is nobody to gossip with.
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    ]
    return Program(f"worker-{queue}", command, environment, project, start=start, stopped_at_most_s=STOPPED_AT_MOST_S)


def beat(project: Path, environment: Mapping[str, str], start: Start = start_anew) -> Program:
    command = [*_celery("beat"), "--pidfile", "", "--loglevel", "INFO"]
    return Program("beat", command, environment, project, start=start, stopped_at_most_s=STOPPED_AT_MOST_S)


def _celery(command: str) -> list[str]:
    return [sys.executable, "-m", "celery", "--app", "webapp.config.celery", command]
