"""The demo of one machine: the process that plays the shipped recordings, and the port it is asked at."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from webapp.supervisor.child import Program
from webapp.supervisor.home import Home, write_privately
from webapp.supervisor.ports import free_port, listens


def port_of(home: Home) -> int:
    """The one it had before, where that is free; noted in the home, from where the clusters' addresses are made."""
    noted = home.folder("demo") / "port"
    try:
        port = int(noted.read_text())
    except (OSError, ValueError):
        port = 0
    if not 0 < port < 65_536 or listens("127.0.0.1", port):
        port = free_port()
    write_privately(noted, str(port))
    return port


def playing(home: Home, port: int, project: Path, environment: Mapping[str, str]) -> Program:
    command = [sys.executable, "-m", "ingest", "replay", "--out", str(home.folder("demo")), "--port", str(port)]
    return Program("demo", command, environment, project, ready=partial(listens, "127.0.0.1", port), ready_within_s=60)
